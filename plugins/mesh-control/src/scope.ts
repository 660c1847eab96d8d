import { meshMailboxPrefix, meshStoreScope } from '@svc/contracts'

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
    this.stored = meshStoreScope(id)
    this.mailboxes = meshMailboxPrefix(id)
  }

  mailbox(receiver: string): string {
    return this.mailboxes + receiver
  }
}
