"""Pictures, films and curves of models and of what runs returned."""
