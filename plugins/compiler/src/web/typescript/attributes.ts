import type { Doc } from '../../doc/doc.ts'
import type { Declaration } from '../../syntax/ast.ts'
import type { Attribute, Element, Expression } from '../../syntax/ast-expressions.ts'
import { bare } from '../../syntax/entries.ts'
import { call, code } from '../../typescript/code.ts'
import { literal, propertyKey } from '../../typescript/names.ts'
import { attributeName, camelCase, componentAttributeName, eventName, kebabCase } from '../../web-ir/attribute-names.ts'
import type { Primitive } from '../../web-ir/primitives.ts'
import { textParts, textValue } from '../../web-ir/text.ts'
import type { WebAttribute } from '../../web-ir/tree.ts'
import type { ValueType } from '../value-types/type.ts'
import { isGeneric, isPlain } from './value-types.ts'
import type { ViewTranslator } from './view-translator.ts'

/** Kind of the element to which the attributes belong. */
export type AttributeOwner =
  | { readonly kind: 'intrinsic'; readonly primitive: Primitive | null }
  | { readonly kind: 'component'; readonly declaration: Declaration | undefined }
  | { readonly kind: 'island'; readonly declaration: Declaration }

/** HTML attributes that are numbers in React's types. */
const NUMERIC: ReadonlySet<string> = new Set(
  'rows cols colSpan rowSpan size span start tabIndex maxLength minLength'.split(' ')
)

export function attributesOf(element: Element, owner: AttributeOwner, view: ViewTranslator): WebAttribute[] {
  switch (owner.kind) {
    case 'island':
      return element.attributes.map(each => islandProp(each, view))
    case 'component':
      return element.attributes.flatMap(each => componentAttribute(element, each, owner.declaration, view))
    case 'intrinsic':
      return intrinsicAttributes(element, owner.primitive, view)
  }
}

/** Returns an island property: a string unchanged, other values as JSON. */
function islandProp({ name, value }: Attribute, view: ViewTranslator): WebAttribute {
  const prop = `data-prop-${kebabCase(name.text)}`
  if (value === null) return { name: prop, code: '"true"' }
  const inner = bare(value)
  if (inner.kind === 'String') return { name: prop, code: JSON.stringify(inner.value) }
  const made = view.closed(value)
  return { name: prop, code: isPlain(view.typeOf(value), 'str') ? made.doc : call('JSON.stringify', made.doc).doc }
}

function componentAttribute(
  element: Element,
  attribute: Attribute,
  declaration: Declaration | undefined,
  view: ViewTranslator
): WebAttribute[] {
  const { name, value } = attribute
  if (name.text === 'bind' && value !== null) return boundTo(element, value, view)
  const params = declaration !== undefined && 'params' in declaration ? (declaration.params ?? []) : []
  const param = params.find(each => each.name.text === name.text)
  const props = declaration !== undefined && 'props' in declaration ? declaration.props : []
  const type = param?.type ?? props.find(each => each.name.text === name.text)?.type ?? null
  if (type !== null) {
    const read = view.program.reader.read(type)
    const isHandler = read.kind === 'function' && value !== null
    const code = isHandler ? view.handler(value, read.params ?? []).doc : valueCode(value, view)
    return [{ name: name.text, code }]
  }
  const isKnown = param !== undefined || props.some(each => each.name.text === name.text)
  const own = isKnown ? name.text : componentAttributeName(name.text)
  const isEvent = value !== null && eventName(name.text) !== null
  return [{ name: own, code: isEvent ? view.handler(value).doc : valueCode(value, view) }]
}

function intrinsicAttributes(element: Element, primitive: Primitive | null, view: ViewTranslator): WebAttribute[] {
  const found: WebAttribute[] = []
  const style: [name: string, value: Doc][] = Object.entries(primitive?.style ?? {}).map(([key, value]) => [
    key,
    literal(value)
  ])
  const hasChildren = (element.children ?? []).length > 0
  let className: Doc | null =
    primitive === null || primitive.className === '' ? null : JSON.stringify(primitive.className)
  let ownStyle: Doc | null = null
  // Attributes in program order, after those of the primitive.
  let classPosition = 0
  let stylePosition = 0
  for (const attribute of element.attributes) {
    const { text } = attribute.name
    const { value } = attribute
    const name = primitive?.attributes?.[text] ?? attributeName(text)
    const property = primitive?.styles?.[text]
    if (text === 'bind' && value !== null) found.push(...boundTo(element, value, view))
    else if (primitive?.contentAttribute === text && !hasChildren) continue
    else if (element.tag.text === 'heading' && text === 'level' && primitive !== null) continue
    else if (property !== undefined && value !== null) style.push([property, view.closed(value).doc])
    else if (name === 'className' && value !== null) {
      if (className === null) classPosition = found.length
      className = joinedClasses(className, classCode(value, view))
    } else if (name === 'style' && value !== null) {
      const inner = bare(value)
      if (style.length === 0) stylePosition = found.length
      if (inner.kind === 'String') style.push(...declarations(inner.value))
      else ownStyle = view.closed(value).doc
    } else if (name === 'onSubmit' && value !== null && isHandledForm(element)) {
      found.push({ name, code: view.handler(value, undefined, true).doc })
    } else found.push({ name, code: intrinsicValue(name, text, value, view) })
  }
  const styleCode = style.length === 0 ? ownStyle : recordOf(style, ownStyle)
  if (styleCode !== null) found.splice(stylePosition, 0, { name: 'style', code: styleCode })
  const classIndex = classPosition + (styleCode !== null && stylePosition < classPosition ? 1 : 0)
  if (className !== null) found.splice(classIndex, 0, { name: 'className', code: className })
  return found
}

/** True for a form that the program handles. One with an address is sent to it. */
function isHandledForm({ tag, attributes }: Element): boolean {
  return tag.text === 'form' && !attributes.some(({ name }) => name.text === 'action')
}

function recordOf(entries: readonly (readonly [name: string, value: Doc])[], rest: Doc | null): Doc {
  const own = entries.map(([key, value]): Doc => [`${propertyKey(key)}: `, value])
  const parts = rest === null ? own : [...own, ['...', rest]]
  return ['{ ', parts.map((part, index): Doc => [index === 0 ? '' : ', ', part]), ' }']
}

function intrinsicValue(name: string, written: string, value: Expression | null, view: ViewTranslator): Doc {
  if (value !== null && eventName(written) !== null) return view.handler(value).doc
  const inner = value === null ? null : bare(value)
  if (inner?.kind === 'String' && NUMERIC.has(name) && /^\d+$/.test(inner.value)) return inner.value
  return valueCode(value, view)
}

function valueCode(value: Expression | null, view: ViewTranslator): Doc {
  if (value === null) return 'true'
  const inner = bare(value)
  return inner.kind === 'String' ? JSON.stringify(inner.value) : view.closed(value).doc
}

/** Returns the code of a class attribute, whose string may have placeholders. */
function classCode(value: Expression, view: ViewTranslator): Doc {
  const inner = bare(value)
  if (inner.kind !== 'String') return view.closed(value).doc
  const parts = textParts(inner.value, view.resolve)
  return parts.every(part => 'text' in part) ? JSON.stringify(inner.value) : textValue(parts)
}

function joinedClasses(own: Doc | null, added: Doc): Doc {
  if (own === null) return added
  if (typeof own !== 'string' || !own.startsWith('"')) return ['`${', own, '} ${', added, '}`']
  const text = JSON.parse(own) as string
  if (typeof added === 'string' && added.startsWith('"'))
    return JSON.stringify(`${text} ${JSON.parse(added) as string}`)
  return ['`', text, ' ${', added, '}`']
}

/** Parses CSS declarations into record entries. */
function declarations(text: string): [string, Doc][] {
  return text.split(';').flatMap((declaration): [string, Doc][] => {
    const at = declaration.indexOf(':')
    if (at === -1) return []
    const name = declaration.slice(0, at).trim()
    const key = name.startsWith('--') ? name : camelCase(name.replace(/^-/, '').replaceAll('-', '_'))
    return [[key, literal(declaration.slice(at + 1).trim())]]
  })
}

/** Translates `bind={x}` to a value and its change handler. */
function boundTo(element: Element, target: Expression, view: ViewTranslator): WebAttribute[] {
  const kind = element.attributes.find(each => each.name.text === 'type')?.value
  if (element.tag.text === 'input' && kind?.kind === 'String' && kind.value === 'file')
    return boundToFiles(target, view)
  const isCheckbox = kind?.kind === 'String' && (kind.value === 'checkbox' || kind.value === 'switch')
  const type: ValueType = view.typeOf(target)
  const value = view.closed(target)
  const name = isCheckbox || isPlain(type, 'bool') ? 'checked' : 'value'
  const isNumber = isPlain(type, 'int', 'float')
  const changed = view.stored(target, event => {
    const read = `${event}.target.${name}`
    return code(isNumber ? `Number(${read})` : read)
  })
  return [
    { name, code: value.doc },
    { name: 'onChange', code: changed.doc }
  ]
}

/** Browsers set the value of an input for files. A program can only empty it. */
function boundToFiles(target: Expression, view: ViewTranslator): WebAttribute[] {
  const isMany = isGeneric(view.typeOf(target), 'List')
  const picked = view.helper(isMany ? 'picked_files' : 'picked_file')
  const emptied = call(view.helper('empty_input'), 'input', view.closed(target).doc)
  const changed = view.stored(target, event => call(picked, `${event}.target`))
  return [
    { name: 'ref', code: ['input => ', emptied.doc] },
    { name: 'onChange', code: changed.doc }
  ]
}
