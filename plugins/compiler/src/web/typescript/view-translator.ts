import type { Doc } from '../../doc/doc.ts'
import { jsx, jsxExpression } from '../../react/jsx.ts'
import type { Element, ElementFragment, Expression, For, StringLiteral } from '../../syntax/ast-expressions.ts'
import { bare } from '../../syntax/entries.ts'
import { NO_ID } from '../../syntax/node.ts'
import { arrow, call, code, firstText, Level, type TypeScriptCode } from '../../typescript/code.ts'
import { type Primitive, primitiveOf, tagName } from '../../web-ir/primitives.ts'
import { type Resolve, textParts, textValue } from '../../web-ir/text.ts'
import type { WebNode } from '../../web-ir/tree.ts'
import { ANY, type ValueType } from '../value-types/type.ts'
import { attributesOf } from './attributes.ts'
import { CallTranslator } from './call-translator.ts'
import { elementOfCall } from './element-calls.ts'
import type { FunctionFrame } from './translator.ts'
import { isGeneric, isPlain, itemOf } from './value-types.ts'

/** Translates views: elements, strings with placeholders, and other nodes. */
export class ViewTranslator extends CallTranslator {
  /** Strings that a view shows, rather than uses as values. */
  readonly #shownTexts = new Set<Expression>()
  /** Returns the function of the component that holds back a promise once the component has left the page. */
  whileShown: (() => string) | null = null
  #svgDepth = 0

  /** Translates a part of a view. */
  node(expression: Expression): WebNode {
    const node = bare(expression)
    switch (node.kind) {
      case 'String':
        return { kind: 'text', content: node.value, parts: textParts(node.value, this.resolve) }
      case 'ElementFragment':
        return { kind: 'fragment', children: node.children.map(child => this.node(child)) }
      case 'Element':
        return this.#element(node)
      case 'Call': {
        const element = elementOfCall(node, this.program, name => this.scope.lookup(name) !== undefined)
        if (element !== null) return this.#element(element)
      }
    }
    for (const text of shownTexts(node)) this.#shownTexts.add(text)
    const made = this.closed(node)
    // A loop shows the results of its body in order.
    return { kind: 'expression', code: node.kind === 'For' ? made.doc : this.#displayed(made, this.typeOf(node)) }
  }

  /** Returns the resolver of placeholders in the current scope. */
  get resolve(): Resolve {
    return path => {
      const [name = '', ...fields] = path
      const isKnown = this.scope.lookup(name) !== undefined || this.program.names.get(name)?.kind === 'constant'
      if (!isKnown) return null
      const at = { start: 0, end: 0 }
      const value = fields.reduce<Expression>(
        (object, text) => ({ kind: 'Member', id: NO_ID, object, property: { text, ...at }, ...at }),
        { kind: 'Identifier', id: NO_ID, name, ...at }
      )
      return this.#displayed(this.expression(value), this.typeOf(value))
    }
  }

  protected override awaited(value: TypeScriptCode): TypeScriptCode {
    if (this.frame.isCancellable !== true || this.whileShown === null) return super.awaited(value)
    return super.awaited(call(this.whileShown(), value.doc))
  }

  protected markup(expression: Element | ElementFragment): TypeScriptCode {
    return jsxExpression(this.node(expression))
  }

  protected override string(node: StringLiteral): TypeScriptCode {
    if (!this.#shownTexts.has(node)) return super.string(node)
    return code(textValue(textParts(node.value, this.resolve)))
  }

  #element(element: Element): WebNode {
    const { tag, children } = element
    const name = tag.text
    const declaration = this.program.component(name)
    if (declaration?.kind === 'Island' || (declaration?.kind === 'Function' && declaration.role === 'island')) {
      const props = attributesOf(element, { kind: 'island', declaration }, this)
      return { kind: 'island', name, props, ignored: children?.length ?? 0 }
    }
    if (/^[A-Z]/.test(name) || name.includes('.')) {
      const attributes = attributesOf(element, { kind: 'component', declaration }, this)
      return { kind: 'element', tag: this.#componentName(name, element), attributes, children: this.#children(element) }
    }
    if (name === 'route_outlet') {
      const tag = this.file.imports.value('@tanstack/react-router', 'Outlet')
      return { kind: 'element', tag, attributes: [], children: [] }
    }
    const isSvg = name === 'svg'
    if (isSvg) this.#svgDepth++
    const primitive = primitiveOf(name, element.syntax === 'call', this.#svgDepth > 0)
    const attributes = attributesOf(element, { kind: 'intrinsic', primitive }, this)
    const node: WebNode = {
      kind: 'element',
      tag: primitive === null ? tagName(name) : primitiveTag(primitive, element),
      attributes,
      children: this.#shownChildren(element, primitive)
    }
    if (isSvg) this.#svgDepth--
    return node
  }

  #componentName(name: string, element: Element): string {
    if (this.program.component(name) !== undefined) return this.file.component(name)
    const [root = ''] = name.split('.')
    const entry = this.program.names.get(root)
    if (entry?.declaration.kind === 'Import') {
      const item = entry.declaration.items.find(each => each.kind === 'ReactImport' && each.name.text === root)
      if (item?.kind === 'ReactImport') {
        this.file.imports.value(item.source.value, root)
        return name
      }
    }
    this.unavailable(`the undeclared component ${name}`, element.tag)
    return 'div'
  }

  #children({ children }: Element): WebNode[] {
    return (children ?? []).map(child => this.node(child))
  }

  /** Returns the children of a primitive. Without children, it shows the value of one of its attributes. */
  #shownChildren(element: Element, primitive: Primitive | null): WebNode[] {
    const children = this.#children(element)
    if (children.length > 0 || primitive?.contentAttribute === undefined) return children
    const content = element.attributes.find(each => each.name.text === primitive.contentAttribute)
    return content?.value == null ? [] : [this.node(content.value)]
  }

  /** Converts a value to a child or a part of a string. React shows neither booleans nor records. */
  #displayed(value: TypeScriptCode, type: ValueType): Doc {
    if (isPlain(type, 'bool')) return call('String', value.doc).doc
    return isShowable(type) ? value.doc : call(this.helper('text'), value.doc).doc
  }

  /** Adds a key to an element in a loop: the key from the program, the row id, or the position. */
  protected override item(node: For, position: () => string): TypeScriptCode {
    const only = onlyExpression(node.body)
    if (!isPlain(this.typeOf(node.body), 'Element') && only.kind !== 'Element') return super.item(node, position)
    const hasKey = only.kind === 'Element' && only.attributes.some(each => each.name.text === 'key')
    if (hasKey) return this.expression(only)
    const rowType = itemOf(this.typeOf(node.iterable))
    const name = node.binding.kind === 'BindingPattern' ? this.scope.lookup(node.binding.name.text)?.name : undefined
    const key =
      node.key !== null
        ? this.expression(node.key).doc
        : rowType.kind === 'row' && name !== undefined
          ? `${name}._id`
          : position()
    if (only.kind === 'Element') {
      const made = this.node(only)
      if (made.kind === 'element') {
        const keyed: WebNode = { ...made, attributes: [{ name: 'key', code: key }, ...made.attributes] }
        return jsxExpression(keyed)
      }
    }
    const fragment = this.file.react('Fragment')
    const inner = jsx(this.node(node.body))
    return code([`<${fragment} key={`, key, '}>', inner, `</${fragment}>`])
  }

  /**
   * Translates the handler of an event. `argumentTypes` are the known types of its arguments. `isSubmit`: the handler
   * replaces the sending of a form by the browser.
   */
  handler(value: Expression, argumentTypes: readonly ValueType[] = [ANY], isSubmit = false): TypeScriptCode {
    const node = bare(value)
    const frame = (body: Expression): FunctionFrame => {
      const mayAwait = this.hasToWait(body)
      return { ...this.frame, mayAwait, isLater: mayAwait, isInLoop: false, onFailure: 'throw' }
    }
    if (node.kind === 'Lambda') {
      const { scope } = this
      this.scope = scope.inner()
      const isUnnamed = isSubmit && node.params.length === 0
      const list = isUnnamed ? this.scope.fresh('event') : this.params(node.params, argumentTypes)
      const event = isUnnamed ? list : (this.scope.lookup(node.params[0]?.name.text ?? '')?.name ?? '')
      const made = { ...frame(node.body), isCancellable: node.isCancellable }
      const statements = this.functionBody(node.body, made, { kind: 'drop' })
      this.scope = scope
      return this.#handlerOf(list, made.mayAwait, isSubmit ? [prevented(event), ...statements] : statements)
    }
    if (node.kind === 'Identifier') return this.#named(node, argumentTypes, isSubmit)
    const made = frame(node)
    if (!isSubmit) return this.#handlerOf('()', made.mayAwait, this.functionBody(node, made, { kind: 'drop' }))
    const { scope } = this
    this.scope = scope.inner()
    const event = this.scope.fresh('event')
    const statements = this.functionBody(node, made, { kind: 'drop' })
    this.scope = scope
    return this.#handlerOf(event, made.mayAwait, [prevented(event), ...statements])
  }

  /** Returns a handler that assigns `read` of the event to a variable. */
  stored(target: Expression, read: (event: string) => TypeScriptCode): TypeScriptCode {
    const { scope } = this
    this.scope = scope.inner()
    const event = this.scope.fresh('event')
    const statements = this.within(() => this.store(target, read(event)))
    this.scope = scope
    return this.#handlerOf(event, false, statements)
  }

  /** Translates the body of an effect to statements. */
  effectBody(body: Expression): { readonly statements: readonly Doc[]; readonly isAsync: boolean } {
    const isAsync = this.hasToWait(body)
    const frame: FunctionFrame = {
      mayAwait: isAsync,
      isLater: true,
      isInLoop: false,
      onFailure: 'throw',
      newest: new Map()
    }
    return { statements: this.functionBody(body, frame, { kind: 'drop' }), isAsync }
  }

  /** Collects the statements that `write` returns, in an async function. */
  awaiting(write: () => readonly Doc[]): Doc[] {
    const frame: FunctionFrame = {
      mayAwait: true,
      isLater: true,
      isInLoop: false,
      onFailure: 'throw',
      newest: new Map()
    }
    return this.inFrame(frame, () => this.within(() => this.out.push(...write())))
  }

  /** Collects the statements that `write` produces, in the current scope. */
  written(write: () => void): Doc[] {
    const outer = this.out
    this.out = []
    write()
    const statements = this.out
    this.out = outer
    return statements
  }

  #handlerOf(params: Doc, isAsync: boolean, statements: readonly Doc[]): TypeScriptCode {
    const [only] = statements
    const head: Doc = [isAsync ? 'async ' : '', params]
    if (statements.length !== 1 || only === undefined) return arrow(head, statements)
    // Inside braces, no semicolon is needed to separate the statement from a previous line.
    const single = Array.isArray(only) && only[0] === ';' ? (only[1] as Doc) : only
    return arrow(head, isKeywordStatement(single) ? statements : code(single, Level.choice))
  }

  /** Translates the name of a function as a handler. A function without parameters is called without the event. */
  #named(
    node: Extract<Expression, { kind: 'Identifier' }>,
    argumentTypes: readonly ValueType[],
    isSubmit: boolean
  ): TypeScriptCode {
    const local = this.scope.lookup(node.name)
    const entry = local === undefined ? this.program.names.get(node.name) : undefined
    const isFunction = entry?.kind === 'function' && entry.signature !== null
    const params = isFunction
      ? entry.signature?.params.length
      : local?.type.kind === 'function'
        ? local.type.params?.length
        : undefined
    if (params === undefined || (params > 0 && argumentTypes.length > 0 && !isFunction)) {
      const named = this.expression(node)
      return isSubmit ? this.#handlerOf('event', false, [prevented('event'), call(named.doc, 'event').doc]) : named
    }
    const { start, end } = node
    const name = { text: 'event', start, end }
    const argument: Expression = { kind: 'Identifier', id: NO_ID, name: 'event', start, end }
    const called: Expression = {
      kind: 'Call',
      id: NO_ID,
      callee: node,
      args: params > 0 ? [{ kind: 'Argument', name: null, value: argument, start, end }] : [],
      start,
      end
    }
    if (params === 0) return this.handler(called, argumentTypes, isSubmit)
    const param = { kind: 'Param', name, type: null, value: null, start, end } as const
    return this.handler(
      {
        kind: 'Lambda',
        id: NO_ID,
        form: 'arrow',
        isCancellable: false,
        params: [param],
        result: null,
        body: called,
        start,
        end
      },
      argumentTypes,
      isSubmit
    )
  }
}

/** Returns the statement that keeps a browser from sending a form and leaving the page. */
function prevented(event: Doc): Doc {
  return [event, '.preventDefault()']
}

function primitiveTag({ tag }: Primitive, { tag: name, attributes }: Element): string {
  if (name.text !== 'heading') return tag
  const level = attributes.find(each => each.name.text === 'level')?.value
  return level?.kind === 'Int' && /^[1-6]$/.test(level.digits) ? `h${level.digits}` : tag
}

/** Returns the strings that an expression in a view shows. */
function shownTexts(expression: Expression): Expression[] {
  const node = bare(expression)
  switch (node.kind) {
    case 'String':
      return [node]
    case 'If':
      return [...shownTexts(node.then), ...(node.else === null ? [] : shownTexts(node.else))]
    case 'Block': {
      const last = node.statements.at(-1)
      return last?.kind === 'ExpressionStatement' ? shownTexts(last.expression) : []
    }
    case 'Match':
      return node.arms.flatMap(({ body }) =>
        body.kind === 'ExpressionStatement' ? shownTexts(body.expression) : isExpression(body) ? shownTexts(body) : []
      )
    case 'For':
      return shownTexts(node.body)
    default:
      return []
  }
}

const STATEMENTS: ReadonlySet<string> = new Set(['Let', 'Assign', 'Return', 'While', 'Loop', 'Break', 'Continue'])

function isExpression(node: { readonly kind: string }): node is Expression {
  return !STATEMENTS.has(node.kind)
}

/** Returns the only expression of a body. */
function onlyExpression(body: Expression): Expression {
  const node = bare(body)
  const [only] = node.kind === 'Block' ? node.statements : []
  const isOnly = node.kind === 'Block' && node.statements.length === 1 && only?.kind === 'ExpressionStatement'
  return isOnly ? onlyExpression(only.expression) : node
}

function isShowable(type: ValueType): boolean {
  switch (type.kind) {
    case 'any':
    case 'never':
    case 'plain':
      return true
    case 'generic': {
      const [item] = type.args
      const isMany = isGeneric(type, 'List', 'Option')
      const isItem =
        item === undefined ||
        item.kind === 'any' ||
        isPlain(item, 'Element') ||
        (type.name === 'Option' && isShowable(item))
      return isMany && isItem && !(item !== undefined && isPlain(item, 'bool'))
    }
    default:
      return false
  }
}

function isKeywordStatement(statement: Doc): boolean {
  return /^(let|const|if|for|while|switch|return|throw|break|continue)\b/.test(firstText(statement))
}
