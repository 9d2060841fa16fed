"""Rigid contact: impacts, closed contacts with stick and slip, and the method that integrates them."""
