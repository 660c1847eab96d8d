import type { DiagnosticCode } from '../../diagnostics/codes.ts'
import { type Diagnostic, type DiagnosticDetails, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Declaration, FunctionDeclaration } from '../../syntax/ast.ts'
import type { Identifier, Member, Spawn } from '../../syntax/ast-expressions.ts'
import { WITHOUT_BODY } from '../../syntax/decorators.ts'
import type { Name, Span } from '../../syntax/node.ts'
import { isDbMember } from '../../types/db/chain.ts'
import { memberPath } from '../member-path.ts'
import type { BodyPosition, BodyRule, Meaning } from './body-rule.ts'

/** Effects of host functions, by path prefix. */
const HOST_EFFECTS: Readonly<Record<string, string>> = {
  'std.http': 'net',
  'std.fs': 'fs',
  'std.io': 'fs',
  'std.time': 'time',
  'std.now_ms': 'time',
  'std.random': 'random',
  'std.crypto.uuid': 'random',
  'std.uuid': 'random',
  'std.process': 'process',
  'std.env': 'env',
  fs: 'fs',
  http: 'net',
  HTTP: 'net',
  process: 'process',
  env: 'env',
  secrets: 'secret',
  Browser: 'net',
  OpenClaw: 'net',
  Speech: 'fs'
}

const CODES: Readonly<Record<string, DiagnosticCode>> = {
  net: 'vox/effect/missing-net-decl',
  fs: 'vox/effect/missing-fs-decl',
  time: 'vox/effect/missing-time-decl',
  random: 'vox/effect/missing-random-decl',
  secret: 'vox/effect/missing-secret-decl',
  llm: 'vox/effect/missing-llm-decl'
}

/** The origin of an effect, for messages. */
interface Cause {
  readonly action: string
  readonly span: Span
}

/** First cause of each effect. */
type Effects = Map<string, Cause>

/** Reports effects that a function has, directly or through a callee, but does not declare. */
export class EffectsRule implements BodyRule {
  readonly #effects = new Map<Declaration, Effects>()
  /** Callers of each function, with their first call. */
  readonly #callers = new Map<Declaration, Map<Declaration, Span>>()

  member(node: Member, position: BodyPosition): void {
    if (isDbMember(node)) {
      this.#add(position.item, 'db', { action: `uses \`db.${node.property.text}\``, span: node })
      return
    }
    const path = memberPath(node)
    if (path === null || position.meaning(path[0] ?? '')?.kind !== 'builtin') return
    for (let length = path.length; length > 0; length--) {
      const start = path.slice(0, length).join('.')
      if (!Object.hasOwn(HOST_EFFECTS, start)) continue
      this.#add(position.item, HOST_EFFECTS[start] as string, { action: `uses \`${path.join('.')}\``, span: node })
      return
    }
  }

  spawn(node: Spawn, { item }: BodyPosition): void {
    this.#add(item, 'spawn', { action: 'spawns an actor', span: node })
  }

  identifier(node: Identifier, meaning: Meaning, { item }: BodyPosition): void {
    if (meaning?.kind !== 'module') return
    const { declaration, kind } = meaning.entry
    if (kind !== 'function' || declaration === item) return
    const callers = this.#callers.get(declaration) ?? new Map<Declaration, Span>()
    if (!callers.has(item)) callers.set(item, node)
    this.#callers.set(declaration, callers)
  }

  /** Returns the diagnostics. Call it after the walk. */
  result(items: readonly Declaration[]): Diagnostic[] {
    const functions = items.filter(item => item.kind === 'Function')
    for (const fn of functions) if (isModelBacked(fn)) this.#add(fn, 'llm', { action: 'calls a model', span: fn.name })
    // A declared effect row also counts for the callers.
    for (const fn of functions) {
      for (const { text } of rowOf(fn) ?? []) this.#add(fn, text, { action: `declares \`${text}\``, span: fn.name })
    }
    this.#propagate()
    return functions.flatMap(fn => [...wrongRow(fn), ...this.#undeclared(fn), ...this.#impure(fn)])
  }

  #add(item: Declaration, effect: string, cause: Cause): boolean {
    const known = this.#effects.get(item)
    if (known === undefined) this.#effects.set(item, new Map([[effect, cause]]))
    else if (known.has(effect)) return false
    else known.set(effect, cause)
    return true
  }

  /** Propagates effects from callees to callers. */
  #propagate(): void {
    const open = [...this.#effects].flatMap(([item, effects]) => [...effects.keys()].map(effect => ({ item, effect })))
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { item: callee, effect } = next
      for (const [caller, span] of this.#callers.get(callee) ?? []) {
        const action = `calls \`${nameOf(callee)}\``
        if (this.#add(caller, effect, { action, span })) open.push({ item: caller, effect })
      }
    }
  }

  #undeclared(fn: FunctionDeclaration): Diagnostic[] {
    const row = rowOf(fn)
    if (row === null) return []
    return [...(this.#effects.get(fn) ?? [])].flatMap(([effect, { action, span }]) => {
      if (row.some(({ text }) => text === effect)) return []
      const last = row.at(-1)
      const fix: DiagnosticDetails =
        last === undefined
          ? {}
          : {
              fixes: [{ label: `add ${effect}`, span: { start: last.end, end: last.end }, replacement: `, ${effect}` }]
            }
      const message = `\`${fn.name.text}\` ${action}, but does not declare the effect \`${effect}\``
      return diagnostic(CODES[effect] ?? 'vox/effect/missing-declaration', message, span, fix)
    })
  }

  #impure(fn: FunctionDeclaration): Diagnostic[] {
    if (!fn.decorators.some(({ name }) => name.text === 'pure')) return []
    return [...(this.#effects.get(fn) ?? [])].flatMap(([effect, { action, span }]) => {
      // Spawns are reported by `checkCalls`, and declared effects by `wrongRow`.
      if (action === 'spawns an actor' || action.startsWith('declares')) return []
      const message = `\`${fn.name.text}\` is marked as pure and ${action}, which has the effect \`${effect}\``
      return diagnostic('vox/effect/pure-violation', message, span)
    })
  }
}

/** Returns the effects that a function declares with `uses` or `@uses(…)`; null if it has no declaration. */
function rowOf({ effects, decorators }: FunctionDeclaration): Name[] | null {
  const marks = decorators.filter(({ name }) => name.text === 'uses')
  if (effects.length === 0 && marks.length === 0) return null
  const marked = marks.flatMap(({ args }) =>
    (args ?? []).flatMap(({ value }) =>
      value.kind === 'Identifier' ? [{ text: value.name, start: value.start, end: value.end }] : []
    )
  )
  return [...effects, ...marked]
}

function wrongRow(fn: FunctionDeclaration): Diagnostic[] {
  const row = rowOf(fn) ?? []
  const found: Diagnostic[] = []
  const first = new Map<string, Name>()
  for (const effect of row) {
    const other = first.get(effect.text)
    if (other === undefined) first.set(effect.text, effect)
    else {
      const related = [{ span: other, message: 'declared here first' }]
      found.push(
        diagnostic('E_EFFECT_DUPLICATE', `the effect \`${effect.text}\` is declared twice`, effect, { related })
      )
    }
  }
  const pure = fn.decorators.find(({ name }) => name.text === 'pure')
  const [effect] = row
  if (pure !== undefined && effect !== undefined) {
    const message = `\`${fn.name.text}\` is marked as pure, but declares the effect \`${effect.text}\``
    const related = [{ span: effect, message: 'the effect is declared here' }]
    found.push(diagnostic('E_EFFECT_PURE_CONFLICT', message, pure, { related }))
  }
  return found
}

function isModelBacked({ decorators }: FunctionDeclaration): boolean {
  return decorators.some(({ name }) => name.text !== 'hole' && name.text !== 'search' && WITHOUT_BODY.has(name.text))
}

function nameOf(item: Declaration): string {
  return 'name' in item && item.name !== null ? item.name.text : ''
}
