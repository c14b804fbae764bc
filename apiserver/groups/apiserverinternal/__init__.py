"""The API group apiserverinternal."""
