import { createHash, randomInt } from 'node:crypto'

const DIGITS = 15

/** Returns an address that no agent has, for a mailbox of a node, of one answer, and the like. The same name gives the same. */
export function mailboxOf(name: string): string {
  const bytes = createHash('sha256').update(name).digest()
  return `9${(bytes.readBigUInt64BE() % 10n ** BigInt(DIGITS)).toString().padStart(DIGITS, '0')}`
}

/** Returns the address of a node, to which verbs on its tasks and jobs for its labels are delivered. */
export function nodeMailbox(node: string): string {
  return mailboxOf(`node ${node}`)
}

/** Returns an address for one answer. */
export function randomMailbox(): string {
  return mailboxOf(`answer ${randomInt(2 ** 47)} ${randomInt(2 ** 47)}`)
}
