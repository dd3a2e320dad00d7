def audit_forget(): 
    """x"""
