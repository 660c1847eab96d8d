import type { Actor, Agent, Declaration, Field, Handler, Module } from '../syntax/ast.ts'
import type { Expression } from '../syntax/ast-expressions.ts'
import type { Assign, BindingPattern } from '../syntax/ast-statements.ts'
import { WITHOUT_BODY } from '../syntax/decorators.ts'
import type { Span } from '../syntax/node.ts'
import { walk } from '../syntax/walk.ts'
import { declaredEffects } from './declared-effects.ts'
import { EFFECTS, type Effect } from './effect.ts'
import { NATIVES } from './natives/natives.ts'
import { isNativeFunction } from './natives/natives-contract.ts'
import type { Use, UseOwner } from './typed-module.ts'

/**
 * A deed of an owner: an effect; a call of a mutation, which may write even if it does not today; a change of an
 * actor's state, which is saved; or an effect that a callee declares, as `declares NAME`.
 */
export type Deed = Effect | 'mutation' | 'actor_state' | `declares ${string}`

/** The first place from which an owner has a deed. */
export interface Cause {
  /** For messages: `uses \`std.fs.read\``, `calls \`g\``. */
  readonly action: string
  readonly span: Span
  /** The callee that has the deed; null if the owner has it itself. */
  readonly through: UseOwner | null
}

/** Deeds of all owners of a module, with those of their callees. */
export interface EffectTable {
  deedsOf(owner: UseOwner): ReadonlyMap<Deed, Cause>
  effectsOf(declaration: Declaration): ReadonlySet<Effect>
}

/** Deeds that a query must not have. */
export const WRITES: ReadonlySet<Deed> = new Set<Deed>(['db_write', 'raw_sql', 'fs_write', 'mutation', 'actor_state'])

/** A place where an owner makes code of another one run. */
interface Link {
  readonly span: Span
  /** True for a constant or the initial state of an actor: of its deeds, only what is written counts for the user. */
  readonly onlyWrites: boolean
}

const NO_DEEDS: ReadonlyMap<Deed, Cause> = new Map()

/** Computes the effects of all declarations: their own, then those of their callees until nothing changes. */
export function effectTable({ items }: Module, usesOf: (owner: UseOwner) => readonly Use[]): EffectTable {
  const deeds = new Map<UseOwner, Map<Deed, Cause>>()
  /** Callers of each owner, with their first call. */
  const callers = new Map<UseOwner, Map<UseOwner, Link>>()

  /** Fields whose defaults are used, by `Type.field`. */
  const namesOfFields = new Map<UseOwner, string>()

  const add = (owner: UseOwner, deed: Deed, cause: Cause): boolean => {
    const known = deeds.get(owner)
    if (known === undefined) deeds.set(owner, new Map([[deed, cause]]))
    else if (known.has(deed)) return false
    else known.set(deed, cause)
    return true
  }
  const call = (caller: UseOwner, callee: UseOwner, link: Link): void => {
    if (caller === callee) return
    const known = callers.get(callee)
    const before = known?.get(caller)
    if (known === undefined) callers.set(callee, new Map([[caller, link]]))
    else if (before === undefined || (before.onlyWrites && !link.onlyWrites)) known.set(caller, link)
  }
  const collect = (owner: UseOwner): void => {
    for (const use of usesOf(owner)) take(owner, use, use.node, false)
  }
  const take = (owner: UseOwner, use: Use, span: Span, onlyWrites: boolean): void => {
    for (const [deed, action] of ownDeeds(use)) {
      if (!onlyWrites || WRITES.has(deed)) add(owner, deed, { action, span, through: null })
    }
    const callee = calleeOf(use)
    if (use.kind === 'default') namesOfFields.set(use.field, use.name)
    if (callee !== null) call(owner, callee, { span, onlyWrites: onlyWrites || callee.kind === 'Const' })
    if (use.kind !== 'spawn' || onlyWrites) return
    for (const initial of initialUses(use.declaration, usesOf)) take(owner, initial, span, true)
  }

  for (const item of items) {
    collect(item)
    for (const field of fieldsOf(item)) collect(field)
    if (item.kind === 'Actor' || item.kind === 'Agent') {
      for (const handler of handlersOf(item)) {
        collect(handler)
        const span = stateChange(item, handler)
        const action = `changes the state of \`${item.name.text}\``
        if (span !== null) add(handler, 'actor_state', { action, span, through: null })
      }
    }
    if (item.kind !== 'Function') continue
    const isModelBacked = item.decorators.some(({ name }) => MODEL_BACKED.has(name.text))
    if (isModelBacked) add(item, 'llm', { action: 'calls a model', span: item.name, through: null })
    // A declared effect also counts for the callers.
    for (const { text } of declaredEffects(item) ?? []) {
      add(item, `declares ${text}`, { action: `declares \`${text}\``, span: item.name, through: null })
    }
  }

  const open = [...deeds].flatMap(([owner, own]) => [...own.keys()].map(deed => ({ owner, deed })))
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { owner: callee, deed } = next
    for (const [caller, { span, onlyWrites }] of callers.get(callee) ?? []) {
      if (onlyWrites && !WRITES.has(deed)) continue
      const action = `${verbOf(callee)} \`${namesOfFields.get(callee) ?? nameOf(callee)}\``
      if (add(caller, deed, { action, span, through: callee })) open.push({ owner: caller, deed })
    }
  }

  return {
    deedsOf: owner => deeds.get(owner) ?? NO_DEEDS,
    effectsOf(declaration) {
      const own = deeds.get(declaration)
      return new Set(own === undefined ? [] : EFFECTS.filter(effect => own.has(effect)))
    }
  }
}

const MODEL_BACKED: ReadonlySet<string> = new Set(
  [...WITHOUT_BODY].filter(name => name !== 'hole' && name !== 'search')
)

function ownDeeds(use: Use): [deed: Deed, action: string][] {
  switch (use.kind) {
    case 'native':
      return use.native.effects.map(effect => [effect, `uses \`${use.path}\``])
    case 'host':
      return hostEffects(use.path).map(effect => [effect, `uses \`${use.path}\``])
    case 'spawn':
      return [['spawn', 'spawns an actor']]
    case 'db':
      return [[ACCESS[use.access], use.action]]
    case 'declaration': {
      const { declaration } = use
      const isMutation = declaration.kind === 'Function' && declaration.role === 'mutation'
      return isMutation ? [['mutation', `calls the mutation \`${declaration.name.text}\``]] : []
    }
    default:
      return []
  }
}

const ACCESS: Readonly<Record<'read' | 'write' | 'raw', Effect>> = {
  read: 'db_read',
  write: 'db_write',
  raw: 'raw_sql'
}

/** A function that is passed as a value may be called. */
function calleeOf(use: Use): UseOwner | null {
  if (use.kind === 'handler') return use.handler
  if (use.kind === 'default') return use.field
  if (use.kind !== 'declaration') return null
  const { kind } = use.declaration
  return CALLABLE.has(kind) ? use.declaration : null
}

const CALLABLE: ReadonlySet<Declaration['kind']> = new Set<Declaration['kind']>([
  'Const',
  'Function',
  'ExternFunction',
  'Workflow',
  'Activity'
])

/** Returns the uses of the initial state of an actor: those that are of no handler. */
function initialUses(declaration: Declaration | null, usesOf: (owner: UseOwner) => readonly Use[]): readonly Use[] {
  if (declaration?.kind !== 'Actor' && declaration?.kind !== 'Agent') return []
  const ofHandlers = new Set(handlersOf(declaration).flatMap(usesOf))
  return usesOf(declaration).filter(use => !ofHandlers.has(use))
}

/** Returns the effects of an unknown member of a namespace: those of the known members. */
function hostEffects(path: string): Effect[] {
  const names = path.split('.')
  // Only a host has members of this namespace.
  if (names[0] === 'secrets') return ['secret']
  for (let length = names.length; length > 0; length--) {
    const members = NATIVES.namespace(names.slice(0, length).join('.'))
    if (members === undefined) continue
    const effects = [...members.values()].flatMap(member => (isNativeFunction(member) ? member.effects : []))
    // Whether an unknown member writes files is not known.
    return [...new Set(effects)].filter(effect => effect !== 'fs_write')
  }
  return []
}

/** Returns the fields of a type or a table, which may have defaults. */
function fieldsOf(item: Declaration): readonly Field[] {
  if (item.kind === 'Table') return item.fields
  return item.kind === 'Type' && item.definition.form === 'struct' ? item.definition.fields : []
}

function verbOf({ kind }: UseOwner): string {
  if (kind === 'Field') return 'uses the default of'
  return kind === 'Const' ? 'uses' : 'calls'
}

function handlersOf({ members }: Actor | Agent): Handler[] {
  return members.flatMap(member => (member.kind === 'Handler' ? [member] : []))
}

/** Returns the first assignment of a handler to the state of its actor; null if there is none. */
function stateChange({ members }: Actor | Agent, { params, body }: Handler): Span | null {
  const states = new Set<string>()
  for (const member of members) if (member.kind === 'StateField') states.add(member.name.text)
  for (const { name } of params) states.delete(name.text)
  let found: Span | null = null
  walk(body, node => {
    if (node.kind === 'BindingPattern') states.delete((node as BindingPattern).name.text)
    if (node.kind !== 'Assign' || found !== null) return found === null
    const root = rootOf((node as Assign).target)
    if (root !== null && states.has(root)) found = node
    return true
  })
  return found
}

/** Returns the variable that an assignment changes. */
function rootOf(target: Expression): string | null {
  let at = target
  for (;;) {
    if (at.kind === 'Identifier') return at.name
    if (at.kind === 'Paren') at = at.inner
    else if (at.kind === 'Member' || at.kind === 'TupleIndex' || at.kind === 'IndexAccess') at = at.object
    else return null
  }
}

export function nameOf(owner: UseOwner): string {
  if (owner.kind === 'Handler') return owner.event.text
  if (owner.kind === 'Const') {
    const { statement } = owner
    return statement.kind === 'Let' && statement.pattern.kind === 'BindingPattern' ? statement.pattern.name.text : ''
  }
  return 'name' in owner && owner.name !== null ? owner.name.text : ''
}
