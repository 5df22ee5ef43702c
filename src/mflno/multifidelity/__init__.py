"""Data of several levels to one predictive law: the MF-LNO and its peers."""
