/** Name of the scope in the store if none is configured. */
const DEFAULT_SCOPE = 'default'

/** Names in the store that belong to one tenant. */
export class MeshScope {
  /** The configured scope; null if none is. */
  readonly id: string | null
  /** Scope of nodes and leases in the store. */
  readonly stored: string
  /** Beginning of the names of all mailboxes. */
  readonly mailboxes: string

  constructor(id: string | null) {
    this.id = id
    this.stored = id ?? DEFAULT_SCOPE
    // The separator must not occur in the scope, or one tenant could name the mailbox of another.
    this.mailboxes = `a2a:${this.stored.replaceAll('%', '%25').replaceAll(':', '%3A')}:`
  }

  mailbox(receiver: string): string {
    return this.mailboxes + receiver
  }
}
