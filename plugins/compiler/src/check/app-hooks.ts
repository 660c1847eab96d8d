import { pathParameters } from '@svc/contracts'
import {
  HOOK_ENTRIES,
  type HookEntry,
  type HookName,
  handlerArguments,
  hookEntry,
  isLinkPattern,
  isOrigin,
  isOwnScheme,
  isPath,
  plainTypeName
} from '../app-hooks/hook-entries.ts'
import { type Diagnostic, type DiagnosticDetails, diagnostic, spellingFix } from '../diagnostics/diagnostic.ts'
import type { AppHook, Declaration, FunctionDeclaration, Module } from '../syntax/ast.ts'
import type { Expression, ObjectEntry, ObjectLiteral } from '../syntax/ast-expressions.ts'
import { bare, entryKey, entryValue } from '../syntax/entries.ts'
import { nearName } from '../syntax/near-name.ts'
import type { Span } from '../syntax/node.ts'

/** Checks `@back_button`, `@deep_link` and `@push`. */
export function checkAppHooks({ items }: Module): Diagnostic[] {
  const checker = new HookChecker(items)
  const first = new Map<HookName, AppHook>()
  for (const item of items) {
    if (item.kind !== 'AppHook' || item.hook === 'tokens') continue
    const other = first.get(item.hook)
    if (other === undefined) first.set(item.hook, item)
    else {
      const related = [{ span: mark(other), message: 'declared here first' }]
      checker.report('typecheck.hook.duplicate', `a program can have only one \`@${item.hook}\``, mark(item), {
        related
      })
    }
    checker.hook(item, item.hook)
  }
  return checker.found
}

/** Returns the span of a hook's decorator, or of the whole hook if modifiers precede it. */
function mark({ decorators, isPublic, hook, start, end }: AppHook): Span {
  return decorators.length > 0 || isPublic ? { start, end } : { start, end: start + hook.length + 1 }
}

/** Roles of functions that a page can call. */
const CALLABLE: ReadonlySet<FunctionDeclaration['role']> = new Set(['plain', 'query', 'mutation', 'server'])

/** Types of values that a path can hold. */
const IN_PATHS: ReadonlySet<string> = new Set(['str', 'int', 'float', 'bool', 'Id', 'any', '_', ''])

class HookChecker {
  readonly found: Diagnostic[] = []
  readonly #functions: ReadonlyMap<string, FunctionDeclaration>

  constructor(items: readonly Declaration[]) {
    const functions = items.filter(item => item.kind === 'Function')
    // The first declaration of a name counts.
    this.#functions = new Map(functions.reverse().map(item => [item.name.text, item] as const))
  }

  report(code: Diagnostic['code'], message: string, span: Span, details?: DiagnosticDetails): void {
    this.found.push(diagnostic(code, message, span, details))
  }

  hook(item: AppHook, hook: HookName): void {
    const names = new Set<string>()
    for (const { name, value } of item.entries) {
      if (name.text === '') continue
      const entry = hookEntry(hook, name.text)
      if (entry === undefined) this.#unknown(hook, name)
      else if (names.has(name.text)) {
        this.report('typecheck.duplicate_name', `there is already an entry \`${name.text}\``, name)
      } else this.#value(name.text, bare(value), entry)
      names.add(name.text)
    }
    const needed = { back_button: ['on_press'], deep_link: ['routes', 'on_link'], push: HANDLERS }[hook]
    if (needed.some(name => names.has(name))) return
    const message = `\`@${hook}\` does nothing without ${needed.map(name => `\`${name}\``).join(' or ')}`
    this.report('typecheck.hook.missing_entry', message, mark(item))
  }

  #unknown(hook: HookName, name: Span & { readonly text: string }): void {
    const known = Object.keys(HOOK_ENTRIES[hook])
    const near = nearName(name.text, known)
    this.report('typecheck.hook.unknown_entry', `\`@${hook}\` has no entry \`${name.text}\``, name, {
      suggestions: [`its entries are ${known.map(each => `\`${each}\``).join(', ')}`],
      ...spellingFix(near, name)
    })
  }

  #value(name: string, value: Expression, entry: HookEntry): void {
    switch (entry.form) {
      case 'text':
        this.#text(name, value)
        break
      case 'links':
        if (value.kind === 'Object') this.#links(value, entry)
        else this.#wrong(value, `\`${name}\` must be a record of paths, such as \`{ "/t/:id": "/tasks/:id" }\``)
        break
      case 'action':
        this.#action(value, entry, [])
        break
      case 'handler':
        this.#handler(value, entry, [])
    }
  }

  #text(name: string, value: Expression): void {
    if (value.kind !== 'String') this.#wrong(value, `\`${name}\` must be a string literal`)
    else if (name === 'scheme' && !isOwnScheme(value.value)) {
      this.#wrong(
        value,
        'a scheme must consist of lower-case letters, digits, `+`, `-` and `.`, such as `"myapp"`; web schemes are not allowed'
      )
    } else if (name === 'universal_link' && !isOrigin(value.value)) {
      this.#wrong(value, 'a universal link must be an HTTPS origin without a path, such as `"https://example.org"`')
    } else if (name === 'public_key' && !/^[\w-]{87}=?$/.test(value.value)) {
      this.#wrong(value, 'a public push key must be a P-256 point in 87 base64url characters')
    }
  }

  #links({ entries }: ObjectLiteral, entryType: HookEntry): void {
    const patterns = new Set<string>()
    for (const entry of entries) {
      const pattern = entryKey(entry)
      const message = `there is already a link \`${pattern}\``
      if (patterns.has(pattern)) this.report('typecheck.duplicate_name', message, entry.key)
      else this.#link(entry, entryType)
      patterns.add(pattern)
    }
  }

  #link(entry: ObjectEntry, entryType: HookEntry): void {
    const pattern = entryKey(entry)
    if (!isLinkPattern(pattern))
      this.#wrong(entry.key, 'a link must be a path of words and parameters, such as `"/tasks/:id"`')
    else this.#action(bare(entryValue(entry)), entryType, pathParameters(pattern))
  }

  /** Checks a function or path. `inPath` holds the parameter names of a link's path. */
  #action(value: Expression, entry: HookEntry, inPath: readonly string[]): void {
    if (value.kind !== 'String') {
      this.#handler(value, entry, inPath)
      return
    }
    const unknown = pathParameters(value.value).find(name => !inPath.includes(name))
    if (!isPath(value.value)) this.#wrong(value, 'a path of the program must begin with exactly one `/`')
    else if (unknown !== undefined)
      this.#wrong(value, `this path uses the parameter \`${unknown}\`, which the link does not have`)
  }

  #handler(value: Expression, { offers, returns }: HookEntry, inPath: readonly string[]): void {
    if (value.kind === 'Missing') return
    const declared = value.kind === 'Identifier' ? this.#functions.get(value.name) : undefined
    if (declared === undefined || !CALLABLE.has(declared.role)) {
      const problem = value.kind === 'Identifier' ? `\`${value.name}\` is not a function that a page can call` : null
      this.report('typecheck.hook.handler', problem ?? 'expected the name of a function', value, {
        suggestions: ['name a query, a mutation, a server function, or a function without a decorator']
      })
      return
    }
    const { name, params, result } = declared
    const all = [...inPath, ...offers]
    const { missing } = handlerArguments(params, all)
    for (const param of missing) {
      const suggestions = [
        `the hook passes ${all.length === 0 ? 'no values' : all.map(each => `\`${each}\``).join(', ')}`
      ]
      const message = `\`${name.text}\` needs \`${param.name.text}\`, which the hook does not pass`
      this.report('typecheck.hook.parameter', message, value, { suggestions })
    }
    for (const param of params) {
      if (param.type === null || missing.includes(param)) continue
      const type = plainTypeName(param.type)
      const isFromPath = inPath.includes(param.name.text) || (params.length === 1 && inPath.length > 0)
      if (isFromPath ? IN_PATHS.has(type) : ['str', 'any', '_'].includes(type)) continue
      if (param.value !== null && !all.includes(param.name.text)) continue
      const message = `the hook passes a string for \`${param.name.text}\` of \`${name.text}\`, which has another type`
      this.report('typecheck.hook.parameter', message, value)
    }
    if (returns === 'anything' || result === null) return
    const resultType = plainTypeName(result)
    if (['unit', 'Unit', 'any', '_', returns === 'bool' ? 'bool' : 'str'].includes(resultType)) return
    const expected = returns === 'bool' ? 'a `bool`, which is true if it did something' : 'a `str`, the path to open'
    this.report('typecheck.hook.handler', `\`${name.text}\` must return ${expected}, or nothing`, value)
  }

  #wrong(at: Span, message: string): void {
    this.report('typecheck.hook.value', message, at)
  }
}

const HANDLERS = ['on_register', 'on_notification', 'on_action']
