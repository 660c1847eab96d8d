import type { Doc } from '../../doc/doc.ts'
import type { Argument, Call, Expression, Identifier, Member } from '../../syntax/ast-expressions.ts'
import { bare } from '../../syntax/entries.ts'
import { walk } from '../../syntax/walk.ts'
import { readDbChain } from '../../types/db/chain.ts'
import type { Signature } from '../../types/module-names.ts'
import { NATIVES } from '../../types/natives/natives.ts'
import {
  argumentList,
  arrow,
  call,
  code,
  enclosed,
  Level,
  operand,
  stable,
  type TypeScriptCode
} from '../../typescript/code.ts'
import { propertyKey, valueName } from '../../typescript/names.ts'
import { camelCase } from '../../web-ir/attribute-names.ts'
import { ANY, type ValueType } from '../value-types/type.ts'
import { translateBuiltin, translateStandard } from './builtins.ts'
import { elementOfCall } from './element-calls.ts'
import { MatchTranslator } from './match-translator.ts'
import { translateMethod } from './methods.ts'
import { contains } from './needs-statements.ts'
import { SYNCHRONOUS } from './translator.ts'
import { isGeneric, itemOf } from './value-types.ts'

/** Module with the device functions. */
const MOBILE_MODULE = './mobile-bridge'

/** Translates calls of server functions, program functions, methods and builtin functions. */
export abstract class CallTranslator extends MatchTranslator {
  protected call(node: Call): TypeScriptCode {
    const chain = readDbChain(node, this.program.tables)
    if (chain !== null) return this.unavailable(`db.${chain.operation.table}.${chain.head.text}`, node)
    const callee = bare(node.callee)
    if (callee.kind === 'Member') return this.#methodCall(node, callee)
    if (callee.kind === 'Identifier') return this.#namedCall(node, callee)
    const made = this.expression(callee)
    return code([operand(made, Level.postfix), argumentList(this.#argumentCodes(node.args, []).map(each => each.doc))])
  }

  #namedCall(node: Call, { name }: Identifier): TypeScriptCode {
    const local = this.scope.lookup(name)
    if (local !== undefined) {
      const types = local.type.kind === 'function' ? (local.type.params ?? []) : []
      const made = call(
        this.expression(bare(node.callee)).doc,
        ...this.#argumentCodes(node.args, types).map(each => each.doc)
      )
      return local.isAsync && this.frame.mayAwait ? this.awaited(made) : made
    }
    const element = elementOfCall(node, this.program, each => this.scope.lookup(each) !== undefined)
    if (element !== null) return this.markup(element)
    const entry = this.program.names.get(name)
    if (entry === undefined) return this.#builtin(node, name)
    const { signature } = entry
    if (entry.kind === 'constructor') {
      const args = this.#ordered(node.args, signature)
      return call(this.file.imports.value('./types', name), ...args.map(each => each.doc))
    }
    if (entry.kind === 'constant') {
      return call(this.expression(bare(node.callee)).doc, ...this.#argumentCodes(node.args, []).map(each => each.doc))
    }
    switch (this.program.kindOf(entry)) {
      case 'read':
      case 'write':
        return this.#remote(node, true)
      case 'local': {
        const made = call(this.file.shared(name), ...this.#ordered(node.args, signature).map(each => each.doc))
        return this.program.isAsync(name) ? this.#waiting(node, made, this.program.resultOf(entry.declaration)) : made
      }
      case 'view':
      case 'server':
        return this.unavailable(`\`${name}\``, node)
    }
  }

  #builtin(node: Call, name: string): TypeScriptCode {
    if (name === 'Ok' || name === 'Error' || name === 'Err') {
      const [value = stable('null')] = this.#argumentCodes(node.args, [])
      return call(this.file.imports.value('./types', name === 'Ok' ? 'Ok' : 'Err'), value.doc)
    }
    const args = this.#argumentCodes(node.args, [])
    // A function component may call React hooks.
    if (name.startsWith('use_') && this.file.own !== null) {
      return call(this.file.react(camelCase(name)), ...args.map(each => each.doc))
    }
    const types = node.args.map(({ value }) => this.typeOf(value))
    return (
      translateBuiltin(name, {
        args,
        types,
        helper: each => this.helper(each),
        text: (value, type) => this.textOf(value, type),
        isHidden: type => this.isHidden(type)
      }) ?? this.unavailable(`\`${name}\``, node)
    )
  }

  #methodCall(node: Call, { object, property }: Member): TypeScriptCode {
    const path = this.#path(object)
    if (path !== null) {
      const full = [...path, property.text]
      const [root, ...rest] = full
      if (root === 'std' && rest[0] !== 'mobile') {
        const args = this.#argumentCodes(node.args, [])
        return translateStandard(rest.join('.'), args) ?? this.unavailable(full.join('.'), node)
      }
      if (root === 'mobile' || rest[0] === 'mobile') {
        const inner = root === 'mobile' ? rest : rest.slice(1)
        return this.#mobile(node, inner.map(valueName).join('.'))
      }
      return this.unavailable(full.join('.'), node)
    }
    const type = this.typeOf(object)
    const name = property.text
    const item = isGeneric(type, 'List') ? [itemOf(type)] : isGeneric(type, 'Option') ? [itemOf(type)] : []
    const argumentType = (index: number): ValueType => {
      const value = node.args[index]?.value
      return value === undefined ? ANY : this.typeOf(value)
    }
    const lambdaTypes = name === 'fold' ? [argumentType(0), ...item] : item
    let [receiver, ...args] = this.#argumentCodes([{ value: object }, ...node.args], [], lambdaTypes)
    // The translation evaluates the other value only if it is needed.
    if (name === 'unwrap_or' && node.args.some(({ value }) => contains(value, each => each.kind === 'Call'))) {
      receiver = stable(this.named(receiver as TypeScriptCode, 'value'))
      args = args.map(each => stable(this.named(each, 'other')))
    }
    const made = translateMethod(name, receiver as TypeScriptCode, type, args, {
      helper: each => this.helper(each),
      named: value => this.named(value, 'value'),
      argumentType,
      text: (value, each) => this.textOf(value, each),
      isHidden: each => this.isHidden(each),
      print: each => this.file.valueType(each)
    })
    const isAsync = node.args.some(({ value }) => value.kind === 'Lambda' && this.hasToWait(value.body))
    if (!isAsync || !this.frame.mayAwait) return made
    if (name !== 'map') return this.unavailable(`calling the server within \`${name}\``, node)
    return this.awaited(call('Promise.all', made.doc))
  }

  /** Returns the names in the path of a builtin namespace; null for a program value. */
  #path(object: Expression): string[] | null {
    const node = bare(object)
    if (node.kind === 'Member') {
      const objectPath = this.#path(node.object)
      return objectPath === null ? null : [...objectPath, node.property.text]
    }
    if (node.kind !== 'Identifier' || this.scope.lookup(node.name) !== undefined) return null
    const entry = this.program.names.get(node.name)
    if (entry?.kind === 'import' && entry.declaration.kind === 'Import') {
      const item = entry.declaration.items.find(
        each => each.kind === 'PathImport' && (each.alias ?? each.path.at(-1))?.text === node.name
      )
      return item?.kind === 'PathImport' ? item.path.map(({ text }) => text) : [node.name]
    }
    if (entry !== undefined || node.name === 'None' || node.name === 'Unit') return null
    return node.name === 'db' || NATIVES.global(node.name) !== undefined || NATIVES.isRoot(node.name)
      ? [node.name]
      : null
  }

  #mobile(node: Call, name: string): TypeScriptCode {
    const args = this.#argumentCodes(node.args, [])
    const made = call(`${this.file.imports.value(MOBILE_MODULE, 'mobile')}.${name}`, ...args.map(each => each.doc))
    return this.frame.mayAwait && !SYNCHRONOUS.has(name) ? this.awaited(made) : made
  }

  #argumentCodes(
    args: readonly Pick<Argument, 'value'>[],
    types: readonly ValueType[],
    lambdaTypes: readonly ValueType[] = []
  ): TypeScriptCode[] {
    const values = args.map(({ value }) => value)
    const evaluated = values.filter(value => bare(value).kind !== 'Lambda')
    const codes = this.operands(evaluated)
    return values.map((value, index) => {
      const inner = bare(value)
      const type = types[index]
      const params = type?.kind === 'function' ? (type.params ?? []) : lambdaTypes
      return inner.kind === 'Lambda' ? this.lambda(inner, params) : (codes[evaluated.indexOf(value)] as TypeScriptCode)
    })
  }

  /** Returns the arguments in parameter order. An omitted argument before another one becomes its default. */
  #ordered(args: readonly Argument[], signature: Signature | null): TypeScriptCode[] {
    const params = signature?.params ?? []
    const values: (Expression | null)[] = []
    let position = 0
    for (const { name, value } of args) {
      const at = name === null ? position++ : params.findIndex(param => param.name.text === name.text)
      values[at === -1 ? position++ : at] = value
    }
    const all = Array.from(values, value => value ?? null)
    const present = all.filter(value => value !== null)
    const codes = this.operands(present)
    return all.map((value, index) => {
      if (value === null) return stable('undefined')
      const inner = bare(value)
      const type = this.program.reader.read(params[index]?.type ?? null)
      if (inner.kind === 'Lambda' && type.kind === 'function') return this.lambda(inner, type.params ?? [])
      return codes[present.indexOf(value)] as TypeScriptCode
    })
  }

  protected isRemote(expression: Expression): boolean {
    const node = bare(expression)
    if (node.kind !== 'Call' || node.callee.kind !== 'Identifier') return false
    if (this.scope.lookup(node.callee.name) !== undefined) return false
    const entry = this.program.names.get(node.callee.name)
    if (entry === undefined) return false
    const kind = this.program.kindOf(entry)
    return kind === 'read' || kind === 'write'
  }

  protected throwingCall(expression: Expression): TypeScriptCode {
    return this.#remote(bare(expression) as Call, false)
  }

  /** Translates a server call. With `settles`, a failure becomes a `Result` if the function declares one. */
  #remote(node: Call, settles: boolean): TypeScriptCode {
    const { name } = node.callee as Identifier
    const entry = this.program.names.get(name)
    const args = this.#ordered(node.args, entry?.signature ?? null).map(each => each.doc)
    const made = call(this.file.client(name), ...args)
    const type = entry === undefined ? ANY : this.program.resultOf(entry.declaration)
    const isResult = settles && isGeneric(type, 'Result')
    const value = isResult ? "$value => $on_value({ _tag: 'Ok', value: $value })" : '$on_value'
    const follow = this.program.live.has(name) ? this.#follow(name, args, entry?.signature ?? null, value) : null
    return this.#waiting(node, isResult ? call(this.helper('settle'), made.doc) : made, type, follow)
  }

  /** Returns a function that passes the later values of a live query on. */
  #follow(name: string, args: readonly Doc[], signature: Signature | null, onValue: string): TypeScriptCode {
    const entries = (signature?.params ?? []).flatMap(({ name: param }, index): Doc[] => {
      const arg = args[index]
      return arg === undefined ? [] : [[`${propertyKey(param.text)}: `, arg]]
    })
    const named = enclosed('{', entries, '}', ' ')
    return arrow('($on_value, $on_error)', call(`${this.file.client(name)}.live`, named, onValue, '$on_error'))
  }

  #waiting(node: Call, made: TypeScriptCode, type: ValueType, follow: TypeScriptCode | null = null): TypeScriptCode {
    if (this.frame.mayAwait) return this.awaited(made)
    const names: string[] = []
    walk(node, each => {
      if (each.kind === 'Identifier') names.push((each as Identifier).name)
      return true
    })
    const isLocal = names.some(name => this.scope.lookup(name)?.isOuter === false)
    const known = isLocal ? null : (this.remoteValues?.(node, made, type, follow) ?? null)
    if (known !== null) return stable(known)
    return this.unavailable('a server call for each item, or outside a component,', node)
  }
}
