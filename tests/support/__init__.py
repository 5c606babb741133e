"""What the end-to-end, measurement and fault tests share."""
