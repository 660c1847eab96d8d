import { PUBLICATION_STATES, type PublicationState } from '@svc/contracts'

type LocalState = (typeof PUBLICATION_STATES)[number]
/** A local state, or `remote` for each status that an archive reports. */
type Kind = LocalState | 'remote'

/**
 * Allowed changes of the state while the content stays the same. New content returns a publication from every state to
 * `draft`. What was published once does not become `publish_failed` because another channel fails.
 */
export const TRANSITIONS: Readonly<Record<Kind, readonly Kind[]>> = {
  draft: ['approved'],
  approved: ['draft', 'published', 'publish_failed', 'remote'],
  publish_failed: ['draft', 'approved', 'published', 'remote'],
  published: ['remote'],
  remote: ['published', 'publish_failed', 'remote']
}

const MAX_STATE_CHARACTERS = 100
/** Words of archives are arbitrary, but they are one line. */
const STATE = /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+$/u

export function kindOf(state: PublicationState): Kind {
  return isLocal(state) ? state : 'remote'
}

function isLocal(state: PublicationState): state is LocalState {
  return (PUBLICATION_STATES as readonly string[]).includes(state)
}

/** Returns whether a state may follow another, with the same content. */
export function mayFollow(from: PublicationState, to: PublicationState): boolean {
  return from === to || TRANSITIONS[kindOf(from)].includes(kindOf(to))
}

/** Returns the status of an archive as it is stored. Empty if it has no characters that can be stored. */
export function storedState(state: PublicationState): PublicationState {
  const line = state.normalize('NFC').trim()
  return STATE.test(line) ? [...line].slice(0, MAX_STATE_CHARACTERS).join('') : ''
}
