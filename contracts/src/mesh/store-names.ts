/** Name of the scope in the coordination store if none is configured. */
const DEFAULT_SCOPE = 'default'

/** Returns the name of a mesh's scope in the coordination store: of its nodes and leases. */
export function meshStoreScope(scopeId: string | null): string {
  return scopeId ?? DEFAULT_SCOPE
}

/** Returns the beginning of the names of a scope's mailboxes, which are queues of the coordination store. */
export function meshMailboxPrefix(scopeId: string | null): string {
  // The separator must not occur in the scope, or one tenant could name the mailbox of another.
  return `a2a:${meshStoreScope(scopeId).replaceAll('%', '%25').replaceAll(':', '%3A')}:`
}
