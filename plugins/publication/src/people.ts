import { createHash, timingSafeEqual } from 'node:crypto'
import { userInfo } from 'node:os'
import type { Call } from '@svc/plugin-sdk'
import { publicationErrors } from './errors.ts'
import type { Settings } from './settings.ts'
import type { Approver } from './store/approvals.ts'

const MAX_NAME_CHARACTERS = 100
const AGENT = 'agent:'
/** Characters that are not seen, or that change how a name is read. */
const INVISIBLE = /[\p{C}\p{Default_Ignorable_Code_Point}]/u
const LATIN = /\p{Script=Latin}/u
/** Scripts with letters that look like Latin ones. */
const LOOK_ALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u

export interface Named {
  /** Name that the caller states. Absent: the caller itself. */
  readonly approver?: string | undefined
  readonly token?: string | undefined
}

export type Caller = Pick<Call, 'surface' | 'principal'>
export type PeopleSettings = Pick<Settings, 'approvers' | 'approver_tokens' | 'allow_tool_approvals'>

/** Surfaces that people use. Callers of all others are programs. */
const PEOPLES_SURFACES: ReadonlySet<string> = new Set(['cli', 'http', 'rpc', 'console'])
/** Callers that share this machine's user: the server's tokens do not say who holds them. */
const OWNERS: ReadonlySet<string> = new Set(['local', 'bearer'])
/** Plugins whose commands a person calls on this machine. */
const COMMAND_PLUGINS: ReadonlySet<string> = new Set(['plugin:publication', 'plugin:scholarly'])

/**
 * Returns a name in the form in which names are compared, so that one person is not two: NFKC, without outer and with
 * single inner spaces, without the difference of upper and lower case. Throws `PUB_APPROVER_INVALID`.
 */
export function normalisedName(name: string): string {
  const refuse = (problem: string) =>
    publicationErrors.create('PUB_APPROVER_INVALID', `name of the approver: ${problem}`, {
      hint: 'use a name of letters, digits and spaces'
    })
  if (name.length > 4 * MAX_NAME_CHARACTERS) throw refuse(`it is longer than ${MAX_NAME_CHARACTERS} characters`)
  const spaced = name.normalize('NFKC').trim().replace(/\s+/gu, ' ')
  // Upper case first: it unites letters that lower case leaves apart, such as the two forms of sigma.
  const folded = spaced.toUpperCase().toLowerCase().normalize('NFKC').replaceAll('ς', 'σ')
  if (folded === '') throw refuse('it is empty')
  if ([...folded].length > MAX_NAME_CHARACTERS) throw refuse(`it is longer than ${MAX_NAME_CHARACTERS} characters`)
  if (INVISIBLE.test(folded)) throw refuse('it contains invisible characters')
  if (LATIN.test(folded) && LOOK_ALIKE.test(folded)) throw refuse('it mixes letters of scripts that look alike')
  if (folded.startsWith(AGENT)) throw refuse(`it begins with ${AGENT}, which marks programs`)
  return folded
}

/**
 * Returns who approves. People name themselves on the command line of this machine; elsewhere a stated name needs the
 * token of that person. Tools of models are agents. Throws `PUB_APPROVAL_REFUSED`, `PUB_APPROVER_INVALID`,
 * `PUB_APPROVER_UNKNOWN` and `PUB_TOKEN_REFUSED`.
 */
export function identify({ approver, token }: Named, caller: Caller, settings: PeopleSettings): Approver {
  if (!isPerson(caller)) return agentOf(caller, settings)
  const name = normalisedName(approver ?? ownName(caller))
  const known = settings.approvers.map(normalisedName)
  if (known.length > 0 && !known.includes(name))
    throw publicationErrors.create('PUB_APPROVER_UNKNOWN', `${name} is not among the approvers of this project`, {
      hint: 'add the name to approvers in [plugins.publication]',
      at: { path: 'plugins.publication.approvers' }
    })
  const expected = tokenOf(name, settings.approver_tokens)
  if (expected === undefined) {
    if (approver !== undefined && !mayName(caller))
      throw publicationErrors.create(
        'PUB_APPROVAL_REFUSED',
        `${name}: only a token shows that the caller is this person`,
        {
          hint: `set approver_tokens.${JSON.stringify(name)} in [plugins.publication], or use svc publication approve --as`
        }
      )
  } else if (token === undefined || !isEqual(token, expected)) {
    throw publicationErrors.create(
      'PUB_TOKEN_REFUSED',
      `${name}: the token of this approver is ${token === undefined ? 'missing' : 'wrong'}`,
      { hint: 'send the token of that person: --token-file FILE, or the field approver_token' }
    )
  }
  return { name, role: 'human' }
}

/** Name of the user of this machine. */
export function systemUser(): string {
  try {
    return userInfo().username
  } catch {
    return process.env.USER ?? process.env.USERNAME ?? 'local-user'
  }
}

function isPerson({ surface, principal }: Caller): boolean {
  if (principal.id.startsWith(AGENT) || principal.role === 'agent') return false
  return PEOPLES_SURFACES.has(surface) || mayName({ surface, principal })
}

/** Returns whether a caller on this machine may state a name without a token. */
function mayName({ surface, principal: { id } }: Caller): boolean {
  if (surface === 'cli') return true
  return surface === 'internal' && (!id.startsWith('plugin:') || COMMAND_PLUGINS.has(id))
}

function ownName({ surface, principal: { id, role } }: Caller): string {
  if (role === 'anonymous')
    throw publicationErrors.create('PUB_APPROVAL_REFUSED', 'the caller is anonymous, so its approval does not count', {
      hint: 'set a token for the server, or use svc publication approve'
    })
  const isOwner = surface === 'cli' || surface === 'internal' || surface === 'console' || OWNERS.has(id)
  return isOwner ? systemUser() : id
}

function agentOf({ principal }: Caller, { allow_tool_approvals }: PeopleSettings): Approver {
  if (!allow_tool_approvals)
    throw publicationErrors.create('PUB_APPROVAL_REFUSED', 'tools may not approve publications', {
      hint: 'ask a person to run svc publication approve, or set allow_tool_approvals in [plugins.publication]',
      at: { path: 'plugins.publication.allow_tool_approvals' }
    })
  const id = principal.id.startsWith(AGENT) ? principal.id.slice(AGENT.length) : principal.id
  return { name: `${AGENT}${normalisedName(id)}`, role: 'agent' }
}

/** Returns the token of a person. One token for two people would make one person two: it is refused. */
function tokenOf(name: string, tokens: Readonly<Record<string, string>>): string | undefined {
  const known = Object.entries(tokens).map(([each, token]) => [normalisedName(each), token] as const)
  const [own, ...more] = known.filter(([each]) => each === name)
  if (own === undefined) return undefined
  if (more.length > 0 || known.some(([each, token]) => each !== name && token === own[1]))
    throw publicationErrors.create(
      'PUB_TOKEN_REFUSED',
      `${name}: this approver has two tokens, or the token of another approver`,
      {
        hint: 'give each approver another token in approver_tokens of [plugins.publication]',
        at: { path: 'plugins.publication.approver_tokens' }
      }
    )
  return own[1]
}

/** Compares in time that does not depend on the texts. */
function isEqual(a: string, b: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(a), hash(b))
}
