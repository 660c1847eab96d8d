import {
  AUTH_PROVIDERS,
  type AuthRule,
  type GuardDeclaration,
  LIMIT_SUBJECTS,
  type LimitSubject,
  type RateLimit,
  WEBHOOK_PROVIDERS,
  type WebhookProvider,
  type WebhookRule
} from '@svc/contracts'
import type { Decorator, DecoratorArgument } from './ast.ts'
import type { Expression, StringLiteral } from './ast-expressions.ts'
import { nearName } from './near-name.ts'
import type { Span } from './node.ts'

/** Decorators that guard a declaration. */
export const GUARD_DECORATORS: ReadonlySet<string> = new Set([
  'auth',
  'role',
  'public',
  'rate_limit',
  'cors',
  'webhook'
])

/** An invalid argument of a guard decorator. */
export interface GuardProblem {
  readonly message: string
  readonly span: Span
  readonly suggestions: readonly string[]
}

/** Requirements of the guard decorators of one declaration. */
export interface Guard extends Pick<GuardDeclaration, 'auth' | 'isPublic' | 'limits' | 'origins' | 'webhook'> {
  readonly problems: readonly GuardProblem[]
}

/** Reads the guard decorators of a declaration; null if it has none. */
export function guardOf(decorators: readonly Decorator[]): Guard | null {
  const own = decorators.filter(({ name }) => GUARD_DECORATORS.has(name.text))
  return own.length === 0 ? null : new GuardReader(own).read()
}

/** Spellings of the subjects of a rate limit. */
const SUBJECTS: Readonly<Record<string, LimitSubject>> = {
  ...Object.fromEntries(LIMIT_SUBJECTS.map(subject => [subject, subject] as const)),
  by_ip: 'ip',
  ip_address: 'ip',
  by_user: 'user',
  user_id: 'user',
  by_api_key: 'api_key',
  by_endpoint: 'endpoint'
}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

const WINDOW = /^(\d+)(ms|s|m|h|d)$/

/** Longest window of a rate limit: longer ones would be forgotten with the process. */
const MAX_WINDOW_MS = 86_400_000

const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/
const ORIGIN = /^(?:\*|https?:\/\/[^/\s?#@]+)$/

class GuardReader {
  readonly #decorators: readonly Decorator[]
  readonly #problems: GuardProblem[] = []

  constructor(decorators: readonly Decorator[]) {
    this.#decorators = decorators
  }

  read(): Guard {
    for (const name of ['auth', 'role', 'public', 'cors', 'webhook']) {
      const [, second] = this.#all(name)
      if (second !== undefined) this.#problem(`\`@${name}\` is written twice`, second, ['remove one of them'])
    }
    const [auth] = this.#all('auth')
    const [role] = this.#all('role')
    const [open] = this.#all('public')
    const [cors] = this.#all('cors')
    const [webhook] = this.#all('webhook')
    if (open !== undefined) {
      this.#arguments(open, [])
      const other = auth ?? role
      if (other !== undefined)
        this.#problem(`\`@public\` contradicts \`@${other.name.text}\``, open, ['remove one of the two decorators'])
    }
    const roles = role === undefined ? [] : this.#texts(role, 'role')
    if (role !== undefined && roles.length === 0)
      this.#problem('`@role` names no role', role, ['write `@role("admin")`'])
    return {
      auth: auth === undefined ? (role === undefined ? null : { ...ANY, roles }) : this.#auth(auth, roles),
      isPublic: open !== undefined,
      limits: this.#all('rate_limit').flatMap(each => this.#limit(each) ?? []),
      origins: cors === undefined ? null : this.#origins(cors),
      webhook: webhook === undefined ? null : this.#webhook(webhook),
      problems: this.#problems
    }
  }

  #all(name: string): Decorator[] {
    return this.#decorators.filter(each => each.name.text === name)
  }

  #auth(decorator: Decorator, roles: readonly string[]): AuthRule {
    const values = this.#arguments(decorator, ['provider', 'scheme', 'optional', 'redirect', 'header'])
    const named = values.get('provider') ?? values.get('scheme')
    const provider = named === undefined ? null : this.#choice(named, 'provider', AUTH_PROVIDERS)
    const isOptional = this.#flag(values.get('optional'), 'optional')
    const redirect = this.#text(values.get('redirect'), 'redirect')
    if (redirect !== null && !/^\/(?![/\\])/.test(redirect.value))
      this.#problem('`redirect` is not a path of this program', redirect, ['write a path such as "/sign-in"'])
    const header = this.#text(values.get('header'), 'header')
    if (header !== null && !HEADER_NAME.test(header.value.toLowerCase()))
      this.#problem(`\`${header.value}\` is not a name of a header`, header, ['write a name such as "x-api-key"'])
    else if (header !== null && provider !== null && provider !== 'api_key')
      this.#problem(`\`header\` has no effect on the provider \`${provider}\``, header, ['use `provider: api_key`'])
    if (isOptional && roles.length > 0)
      this.#problem('`optional: true` contradicts `@role`', decorator, ['remove one of the two'])
    const scopes = this.#texts(decorator, 'scope')
    if (isOptional && scopes.length > 0)
      this.#problem('`optional: true` contradicts the scope', decorator, ['remove one of the two'])
    return {
      provider,
      header: header?.value.toLowerCase() ?? null,
      scopes,
      roles,
      isOptional,
      redirect: redirect?.value ?? null
    }
  }

  #limit(decorator: Decorator): RateLimit | null {
    const nameless = unnamed(decorator).filter(({ kind }) => kind !== 'Identifier')
    if (nameless.length > 0) {
      this.#problem('the values of `@rate_limit` have no names', decorator, [`write \`${limitWithNames(decorator)}\``])
      return null
    }
    const values = this.#arguments(decorator, ['by', 'key', 'per', 'window_secs', 'max'])
    const short = unnamed(decorator).find(({ kind }) => kind === 'Identifier')
    const by = values.get('by') ?? values.get('key') ?? short
    const subject = by === undefined ? 'ip' : this.#subject(by)
    const max = this.#count(values.get('max'), 'max', decorator)
    const per = values.get('per')
    const seconds = values.get('window_secs')
    if (per === undefined && seconds === undefined) {
      this.#problem('`@rate_limit` has no window', decorator, ['write a window such as `per: "1m"`'])
      return null
    }
    const windowMs = per === undefined ? this.#seconds(seconds as Expression, decorator) : this.#window(per)
    return subject === null || max === null || windowMs === null ? null : { by: subject, max, windowMs }
  }

  #seconds(value: Expression, decorator: Decorator): number | null {
    const seconds = this.#count(value, 'window_secs', decorator)
    return seconds === null ? null : this.#withinDay(seconds * 1000, value)
  }

  #window(value: Expression): number | null {
    const match = value.kind === 'String' ? WINDOW.exec(value.value) : null
    const milliseconds = Number(match?.[1]) * (UNITS_MS[match?.[2] ?? ''] ?? 0)
    if (match !== null && milliseconds > 0) return this.#withinDay(milliseconds, value)
    this.#problem('`per` is not a duration', value, ['write a duration such as "1s", "1m" or "1h"'])
    return null
  }

  #withinDay(milliseconds: number, at: Span): number | null {
    if (milliseconds <= MAX_WINDOW_MS) return milliseconds
    this.#problem('the window is longer than one day', at, ['counts are kept in memory; write at most "1d"'])
    return null
  }

  #subject(value: Expression): LimitSubject | null {
    const word = wordOf(value)
    if (word !== null && Object.hasOwn(SUBJECTS, word)) return SUBJECTS[word] as LimitSubject
    this.#problem(`\`by\` is not the subject of a limit`, value, [`write one of ${listed(LIMIT_SUBJECTS)}`])
    return null
  }

  #origins(decorator: Decorator): string[] {
    const value = this.#named(decorator) ?? unnamed(decorator)[0]
    const items = value === undefined ? decorator.strings : value.kind === 'List' ? value.items : [value]
    if (items.length === 0) this.#problem('`@cors` names no origin', decorator, [ORIGIN_HELP])
    return items.flatMap(item => {
      if (item.kind === 'String' && ORIGIN.test(item.value)) return [item.value.toLowerCase()]
      this.#problem('`origins` contains a value that is not an origin', item, [ORIGIN_HELP])
      return []
    })
  }

  #named(decorator: Decorator): Expression | undefined {
    const values = this.#arguments(decorator, ['origins', 'origin'])
    return values.get('origins') ?? values.get('origin')
  }

  #webhook(decorator: Decorator): WebhookRule | null {
    const values = this.#arguments(decorator, ['provider', 'scheme', 'secret'])
    const named = values.get('provider') ?? values.get('scheme')
    const provider: WebhookProvider | null =
      named === undefined ? 'generic' : this.#choice(named, 'provider', WEBHOOK_PROVIDERS)
    const secret = this.#text(values.get('secret'), 'secret')
    if (secret === null || secret.value === '') {
      const help = ['write the name of a secret, such as `secret: "GITHUB_WEBHOOK_SECRET"`']
      if (!values.has('secret') || secret !== null) this.#problem('`@webhook` names no secret', decorator, help)
      return null
    }
    return provider === null ? null : { provider, secret: secret.value }
  }

  /** Returns the named arguments. Reports unknown and repeated names, and values where only names are valid. */
  #arguments({ name, args, strings }: Decorator, known: readonly string[]): Map<string, Expression> {
    const values = new Map<string, Expression>()
    for (const arg of args ?? []) {
      const key = arg.name
      if (key === null) this.#unnamed(name.text, arg)
      else if (!known.includes(key.text)) this.#unknown(name.text, key, known)
      else if (values.has(key.text)) this.#problem(`\`${key.text}\` is written twice`, key, ['remove one of them'])
      else values.set(key.text, arg.value)
    }
    const [text] = strings
    if (text !== undefined && !TEXTS.has(name.text))
      this.#problem(`\`@${name.text}\` takes no text`, text, ['remove the text'])
    for (const [one, other] of SYNONYMS) {
      const second = values.get(other)
      if (values.has(one) && second !== undefined)
        this.#problem(`\`${one}\` and \`${other}\` mean the same`, second, ['remove one of them'])
    }
    return values
  }

  #unnamed(decorator: string, { value }: DecoratorArgument): void {
    const isText = value.kind === 'String' && TEXTS.has(decorator)
    const isSubject = decorator === 'rate_limit' && value.kind === 'Identifier'
    const isList = decorator === 'cors' && value.kind === 'List'
    if (isText || isSubject || isList) return
    this.#problem(`\`@${decorator}\` does not take this value without a name`, value, ['write `name: value`'])
  }

  #unknown(decorator: string, key: Span & { readonly text: string }, known: readonly string[]): void {
    const near = nearName(key.text, known)
    const help = near === undefined ? `it takes ${listed(known)}` : `did you mean \`${near}\`?`
    this.#problem(`\`@${decorator}\` has no argument \`${key.text}\``, key, [known.length === 0 ? 'remove it' : help])
  }

  /** Returns the texts of a decorator without a name, which are not empty. */
  #texts(decorator: Decorator, what: string): string[] {
    if (decorator.name.text === 'role') this.#arguments(decorator, [])
    const texts = [...unnamed(decorator), ...decorator.strings].filter(each => each.kind === 'String')
    for (const text of texts) if (text.value.trim() === '') this.#problem(`the ${what} is empty`, text, [])
    return texts.map(({ value }) => value)
  }

  #choice<A extends string>(value: Expression, name: string, choices: readonly A[]): A | null {
    const word = wordOf(value)
    const found = choices.find(each => each === word)
    if (found !== undefined) return found
    const near = word === null ? undefined : nearName(word, choices)
    const help = near === undefined ? `write one of ${listed(choices)}` : `did you mean \`${near}\`?`
    this.#problem(`\`${name}\` is not a known one`, value, [help])
    return null
  }

  #flag(value: Expression | undefined, name: string): boolean {
    if (value === undefined) return false
    if (value.kind === 'Bool') return value.value
    this.#problem(`\`${name}\` is not true or false`, value, [`write \`${name}: true\``])
    return false
  }

  #text(value: Expression | undefined, name: string): StringLiteral | null {
    if (value === undefined) return null
    if (value.kind === 'String') return value
    this.#problem(`\`${name}\` is not a text`, value, [`write \`${name}: "…"\``])
    return null
  }

  #count(value: Expression | undefined, name: string, decorator: Decorator): number | null {
    const count = value?.kind === 'Int' ? Number(value.digits.replaceAll('_', '')) : Number.NaN
    if (Number.isSafeInteger(count) && count > 0) return count
    this.#problem(`\`${name}\` is not a number above 0`, value ?? decorator, [`write \`${name}: 100\``])
    return null
  }

  #problem(message: string, span: Span, suggestions: readonly string[]): void {
    this.#problems.push({ message, span, suggestions })
  }
}

const ANY: AuthRule = { provider: null, header: null, scopes: [], roles: [], isOptional: false, redirect: null }

/** Decorators that take texts without a name. */
const TEXTS: ReadonlySet<string> = new Set(['auth', 'role', 'cors'])

const SYNONYMS = [
  ['provider', 'scheme'],
  ['by', 'key'],
  ['per', 'window_secs'],
  ['origins', 'origin']
] as const

const ORIGIN_HELP = 'write an origin such as "https://example.org", or "*" for every page'

/** Returns the rate limit that values without names probably mean: a count, a window and a subject. */
function limitWithNames(decorator: Decorator): string {
  const values = unnamed(decorator)
  const written = (name: string): Expression | undefined =>
    decorator.args?.find(each => each.name?.text === name)?.value
  const text = (value: Expression | undefined): string | null => (value?.kind === 'String' ? value.value : null)
  const count = (value: Expression | undefined): string | null => (value?.kind === 'Int' ? value.digits : null)
  const by = [written('by'), ...values].map(each => (each === undefined ? null : wordOf(each))).find(isSubjectWord)
  const per = text(written('per')) ?? values.map(text).find(each => each !== null && WINDOW.test(each)) ?? '1m'
  const max = count(written('max')) ?? values.map(count).find(each => each !== null) ?? '100'
  return `@rate_limit(${by === undefined ? '' : `by: ${by}, `}per: "${per}", max: ${max})`
}

function isSubjectWord(word: string | null): word is string {
  return word !== null && Object.hasOwn(SUBJECTS, word)
}

function unnamed({ args }: Decorator): Expression[] {
  return (args ?? []).flatMap(({ name, value }) => (name === null ? [value] : []))
}

function wordOf(value: Expression): string | null {
  if (value.kind === 'Identifier') return value.name
  return value.kind === 'String' ? value.value : null
}

function listed(words: readonly string[]): string {
  return words.map(word => `\`${word}\``).join(', ')
}
