import { ON_SIGN_UP, type ProgramUsers } from '@svc/contracts'
import { type Diagnostic, diagnostic, spellingFix } from '../../diagnostics/diagnostic.ts'
import type { Module } from '../../syntax/ast.ts'
import { bare } from '../../syntax/entries.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { Span } from '../../syntax/node.ts'
import { onSignUpOf, usersDecorator } from '../../syntax/on-sign-up.ts'
import { columnKinds, isRowOf } from './column-kinds.ts'

export interface ReadUsers {
  /** null if the program declares no users, or their declaration has errors. */
  readonly users: ProgramUsers | null
  readonly problems: readonly Diagnostic[]
}

const EXAMPLE = 'write `@table @auth(provider: password, identity: email) type User { email: str }`'
const PROVIDERS = ['password', 'oauth']
/** Fields of a sign-up that are no columns. */
const SIGN_UP_FIELDS = ['password', 'session', 'next']
/** Columns with the roles of a user. A sign-up cannot set them. */
const ROLES = ['role', 'roles']

/** Returns the users of a program, from the table with `@auth`. */
export function readUsers(module: Module): ReadUsers {
  const problems: Diagnostic[] = []
  const report = (at: Span, message: string, suggestion = EXAMPLE): void => {
    problems.push(diagnostic('auth.users', message, at, { suggestions: [suggestion] }))
  }
  const declared = module.items.flatMap(item => {
    const decorator = item.kind === 'Table' ? usersDecorator(item) : undefined
    return item.kind === 'Table' && decorator !== undefined ? [{ table: item, decorator }] : []
  })
  const [first, second] = declared
  if (first === undefined) return { users: null, problems }
  if (second !== undefined) report(second.decorator, 'a program has one table of users', 'keep the users in one table')
  const { table, decorator } = first
  const columns = columnKinds(table, module)
  let identity: string | null = null
  let hasPassword = true
  for (const { name, value, ...at } of decorator.args ?? []) {
    const text = bare(value)
    const word = text.kind === 'Identifier' ? text.name : text.kind === 'String' ? text.value : ''
    if (name?.text === 'provider') {
      if (PROVIDERS.includes(word)) hasPassword = word === 'password'
      else report(value, `\`${word}\` is no provider of users; they are \`password\` and \`oauth\``)
    } else if (name?.text === 'identity') {
      identity = word
      const column = columns.get(word)
      if (column === undefined || word === '_id') {
        const names = table.fields.map(each => each.name.text)
        const suggestions = [`its columns are ${names.map(each => `\`${each}\``).join(', ')}`]
        const more = { suggestions, ...spellingFix(nearName(word, names), value) }
        problems.push(
          diagnostic('auth.users', `the table \`${table.name.text}\` has no column \`${word}\``, value, more)
        )
      } else if (column.kind !== 'str' || column.isOptional) {
        report(value, `users sign in with \`${word}\`, so it must be a str`, `declare \`${word}: str\``)
      }
    } else report(name ?? at, '`@auth` of a table has the arguments `provider` and `identity`')
  }
  if (identity === null) report(decorator, '`@auth` of a table names no column with which users sign in')
  const roles = table.fields.find(({ name }) => ROLES.includes(name.text))
  if (roles !== undefined) {
    const kind = columns.get(roles.name.text)
    const fits = roles.name.text === 'role' ? kind?.kind === 'str' : kind?.isStrList === true
    if (!fits)
      report(
        roles.name,
        `\`${roles.name.text}\` has the roles of a user, so it is a str or a \`List[str]\``,
        'declare `role: str = "member"`, or `roles: List[str] = []`'
      )
    else if (roles.value === null && kind?.isOptional !== true) {
      report(
        roles.name,
        `\`${roles.name.text}\` needs a default: otherwise users would choose it at sign-up`,
        'declare `role: str = "member"`, or `roles: List[str] = []`'
      )
    }
  }
  const signUpFields = table.fields.filter(({ name, value }) => {
    return value === null && columns.get(name.text)?.isOptional === false
  })
  for (const { name } of hasPassword ? signUpFields : []) {
    if (!SIGN_UP_FIELDS.includes(name.text)) continue
    const problem = name.text === 'password' ? 'would store passwords as they are' : 'is a field of the sign-up itself'
    const advice = name.text === 'password' ? 'remove it: a hash is stored apart' : 'rename it, or give it a default'
    report(name, `the column \`${name.text}\` ${problem}`, advice)
  }
  const onSignUp = onSignUpOf(module)
  const [user, ...others] = onSignUp?.params ?? []
  const takesUser = user !== undefined && (user.type === null || isRowOf(user.type, table, module))
  if (onSignUp !== undefined && (onSignUp.role !== 'mutation' || !takesUser || others.length > 0)) {
    report(
      onSignUp.name,
      `\`${ON_SIGN_UP}\` is a mutation with the new user as its only parameter`,
      `write \`@mutation fn ${ON_SIGN_UP}(user: ${table.name.text})\``
    )
  }
  if (problems.length > 0 || identity === null) return { users: null, problems }
  const signUpColumns = signUpFields.map(({ name }) => name.text)
  return {
    users: {
      table: table.name.text,
      identity,
      hasPassword,
      signUpColumns,
      roles: roles?.name.text ?? null,
      hasOnSignUp: onSignUp !== undefined
    },
    problems
  }
}
