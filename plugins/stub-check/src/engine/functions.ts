import { COMMENT, FUNCTION, IDENTIFIER, LOOP, type NodeTypes, STRING } from './grammars.ts'
import type { Range } from './source-views.ts'
import type { SyntaxTree } from './syntax-tree.ts'

/** A function with a body, in any language. Offsets are in UTF-16 units. */
export interface FunctionFact {
  /** Empty for a function without a name. */
  readonly name: string
  /** Offset of the function's first token, or of its name. */
  readonly at: number
  readonly range: Range
  readonly body: Range
  /** Statements of the body without comments; a documentation string is not a statement. At most {@link MAX_STATEMENTS}. */
  readonly statements: readonly string[]
  /** Number of statements. */
  readonly count: number
  readonly parameters: readonly string[]
  /** Text between the start of the declaration, with its decorators or attributes, and the body. */
  readonly header: string
  readonly isAsync: boolean
  readonly isMethod: boolean
  /** True if it is visible outside of its file. */
  readonly isExported: boolean
  /** True if another function is meant to replace it, or only its signature matters. */
  readonly isAbstract: boolean
  /** True for an arrow function, a callback or a function expression. */
  readonly isExpression: boolean
  /** True if the body has a comment that is not a marker for missing work. */
  readonly isExplained: boolean
  readonly isTest: boolean
}

/** Statements that are kept of a body: rules look at small bodies. */
export const MAX_STATEMENTS = 4

/** A comment that announces work does not explain an empty body. */
export const MARKER =
  /\b(?:TODO|FIXME|XXX|TBD|HACK|PLACEHOLDER)\b|\b(?:todo|fixme):|\bnot (?:yet )?implemented\b|\bimplement\b/

const ABSTRACT_BASES = /\b(?:ABC|ABCMeta|Protocol|Interface|TypedDict|NamedTuple)\b/
const ABSTRACT_NAME = /^_?(?:Base|Abstract)|(?:Base|Mixin|Interface|Protocol)$/

/** Properties of nodes for the rules; arrays are indexed by node. */
export interface Ancestry {
  /** Innermost function that contains the node; -1 outside of functions. */
  readonly inFunction: Int32Array
  /** Loops around the node within its function. */
  readonly loops: Uint8Array
  /** 1 inside of code that only runs in tests. */
  readonly inTest: Uint8Array
}

/** Type and field numbers of one grammar that {@link functionsOf} and {@link ancestryOf} use. */
export class TreeNames {
  readonly types: NodeTypes
  readonly name: number
  readonly body: number
  readonly parameters: number
  readonly parameter: number
  readonly block: ReadonlySet<number>
  readonly methodParents: ReadonlySet<number>
  readonly classes: ReadonlySet<number>
  readonly wrappers: ReadonlySet<number>
  readonly expressions: ReadonlySet<number>
  readonly attributes: ReadonlySet<number>
  readonly exports: ReadonlySet<number>
  readonly testModules: ReadonlySet<number>

  constructor(types: NodeTypes) {
    this.types = types
    this.name = types.fieldId('name')
    this.body = types.fieldId('body')
    this.parameters = types.fieldId('parameters')
    this.parameter = types.fieldId('parameter')
    this.block = types.ids('statement_block', 'block')
    this.methodParents = types.ids('class_body', 'declaration_list', 'object', 'trait_item', 'impl_item')
    this.classes = types.ids(
      'class_definition',
      'class_declaration',
      'abstract_class_declaration',
      'class',
      'trait_item',
      'impl_item'
    )
    this.wrappers = types.ids('decorated_definition', 'export_statement')
    this.expressions = types.ids('arrow_function', 'function_expression', 'generator_function', 'lambda')
    this.attributes = types.ids('attribute_item', 'decorator', 'inner_attribute_item')
    this.exports = types.ids('export_statement')
    this.testModules = types.ids('mod_item')
  }
}

export function ancestryOf(tree: SyntaxTree, names: TreeNames, text: string): Ancestry {
  const { count, type, parent, start } = tree
  const { flags } = names.types
  const inFunction = new Int32Array(count).fill(-1)
  const loops = new Uint8Array(count)
  const inTest = new Uint8Array(count)
  for (let node = 1; node < count; node++) {
    const above = parent[node] as number
    const aboveFlags = flags[type[above] as number] as number
    inFunction[node] = (aboveFlags & FUNCTION) !== 0 ? above : (inFunction[above] as number)
    const around = (aboveFlags & FUNCTION) !== 0 ? 0 : (loops[above] as number)
    loops[node] = Math.min(250, around + ((aboveFlags & LOOP) !== 0 ? 1 : 0))
    inTest[node] = inTest[above] as number
    if (inTest[node] === 1) continue
    if (names.testModules.has(type[node] as number) || (flags[type[node] as number] as number) & FUNCTION) {
      const attributes = precedingAttributes(tree, names, node, text)
      if (/\bcfg\s*\(\s*(?:all\s*\(\s*)?test\b|#\[(?:\w+::)?test\b|\bbench\b/.test(attributes)) inTest[node] = 1
      else if (
        names.testModules.has(type[node] as number) &&
        /^(?:pub\s+)?mod\s+tests?\b/.test(text.slice(start[node], (start[node] as number) + 24))
      )
        inTest[node] = 1
    }
  }
  return { inFunction, loops, inTest }
}

/** Returns the attributes or decorators directly before a node. */
function precedingAttributes(tree: SyntaxTree, names: TreeNames, node: number, text: string): string {
  const above = tree.parent[node] as number
  if (above < 0) return ''
  let first = -1
  let end = -1
  for (let at = node - 1; at > above; at--) {
    // Only siblings count; deeper nodes are skipped by their parent.
    if (tree.parent[at] !== above) continue
    const type = tree.type[at] as number
    if (names.attributes.has(type)) {
      first = at
      if (end < 0) end = tree.end[at] as number
    } else if (((names.types.flags[type] as number) & COMMENT) === 0) break
  }
  return first < 0 ? '' : text.slice(tree.start[first], end)
}

/** Returns the functions of a tree in source order. */
export function functionsOf(
  tree: SyntaxTree,
  names: TreeNames,
  ancestry: Ancestry,
  text: string,
  isPython: boolean,
  isRust: boolean
): readonly { readonly node: number; readonly fact: FunctionFact }[] {
  const { count, type, start, end, parent, firstChild, nextSibling, field } = tree
  const { flags } = names.types
  const found: { node: number; fact: FunctionFact }[] = []
  for (let node = 0; node < count; node++) {
    if (((flags[type[node] as number] as number) & FUNCTION) === 0) continue
    let name = ''
    let body = -1
    const parameters: string[] = []
    for (let child = firstChild[node] as number; child >= 0; child = nextSibling[child] as number) {
      const as = field[child] as number
      if (as === 0) continue
      if (as === names.name) name = text.slice(start[child], end[child])
      else if (as === names.body) body = child
      else if (as === names.parameters || as === names.parameter)
        parameters.push(...parameterNames(tree, names, child, text))
    }
    if (body < 0) continue
    const from = start[node] as number
    const wrapper = names.wrappers.has(type[parent[node] as number] ?? -1) ? (parent[node] as number) : node
    const attributes = isRust ? precedingAttributes(tree, names, node, text) : ''
    const header = `${attributes} ${text.slice(start[wrapper], start[body])}`
    const isExpression = names.expressions.has(type[node] as number)
    if (isExpression && name === '') name = assignedName(tree, names, node, text)
    // Python's grammar puts a comment before the first statement next to the block, not into it.
    const isExplainedBefore = isPython && hasExplanation(tree, names, node, body, text)
    const isBlock = names.block.has(type[body] as number)
    const { statements, total, isExplained } = isBlock
      ? statementsOf(tree, names, body, text, isPython)
      : { statements: [text.slice(start[body], end[body])], total: 1, isExplained: false }
    const holder = methodHolder(tree, names, node, isPython)
    const isMethod = holder >= 0
    found.push({
      node,
      fact: {
        name,
        at: from,
        range: { start: from, end: end[node] as number },
        body: { start: start[body] as number, end: end[body] as number },
        statements,
        count: total,
        parameters,
        header,
        isAsync: /\basync\b/.test(header),
        isMethod,
        isExported: isRust
          ? /\bpub\b/.test(header)
          : isPython
            ? !name.startsWith('_')
            : names.exports.has(type[parent[node] as number] ?? -1) || /\bexport\b/.test(header),
        isAbstract: isAbstract(
          header,
          holder < 0 ? '' : text.slice(start[holder], (start[holder] as number) + 200),
          isPython
        ),
        isExpression,
        isExplained: isExplained || isExplainedBefore,
        isTest: ancestry.inTest[node] === 1
      }
    })
  }
  return found
}

/** True if a comment that is not a marker is between the children of a function, before its body. */
function hasExplanation(tree: SyntaxTree, names: TreeNames, node: number, body: number, text: string): boolean {
  for (
    let child = tree.firstChild[node] as number;
    child >= 0 && child !== body;
    child = tree.nextSibling[child] as number
  ) {
    const isComment = ((names.types.flags[tree.type[child] as number] as number) & COMMENT) !== 0
    if (isComment && !MARKER.test(text.slice(tree.start[child], tree.end[child]))) return true
  }
  return false
}

function parameterNames(tree: SyntaxTree, names: TreeNames, node: number, text: string): string[] {
  if (((names.types.flags[tree.type[node] as number] as number) & IDENTIFIER) !== 0)
    return [text.slice(tree.start[node], tree.end[node])]
  const found: string[] = []
  for (let child = tree.firstChild[node] as number; child >= 0; child = tree.nextSibling[child] as number) {
    const name = /^(?:\.\.\.|\*{1,2}|&?\s*(?:mut\s+)?)?([\w$]+)/.exec(
      text.slice(tree.start[child], tree.end[child])
    )?.[1]
    if (name !== undefined && !/^(?:self|cls|this)$/.test(name)) found.push(name)
  }
  return found
}

/** Name of the variable or property that a function expression is assigned to. */
function assignedName(tree: SyntaxTree, names: TreeNames, node: number, text: string): string {
  const above = tree.parent[node] as number
  if (above < 0) return ''
  const child = tree.firstChild[above] as number
  if (child < 0 || child === node) return ''
  const isName = tree.field[child] === names.name
  return isName ? text.slice(tree.start[child], tree.end[child]) : ''
}

function methodHolder(tree: SyntaxTree, names: TreeNames, node: number, isPython: boolean): number {
  let above = tree.parent[node] as number
  if (above >= 0 && names.wrappers.has(tree.type[above] as number)) above = tree.parent[above] as number
  if (above < 0) return -1
  if (isPython) {
    const holder = tree.parent[above] as number
    return holder >= 0 && names.classes.has(tree.type[holder] as number) ? holder : -1
  }
  if (!names.methodParents.has(tree.type[above] as number)) return -1
  const holder = tree.parent[above] as number
  return holder >= 0 && names.classes.has(tree.type[holder] as number) ? holder : above
}

function isAbstract(header: string, holder: string, isPython: boolean): boolean {
  if (!isPython)
    return /^\s*(?:\w+\s+)*abstract\b/.test(header) || /^\s*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?trait\b/.test(holder)
  if (/@(?:[\w.]*\.)?(?:abstract\w*|overload)\b/.test(header)) return true
  const [, name = '', rest = ''] = /class\s+(\w+)([^\n]*)/.exec(holder) ?? []
  return ABSTRACT_BASES.test(rest) || ABSTRACT_NAME.test(name)
}

function statementsOf(tree: SyntaxTree, names: TreeNames, body: number, text: string, isPython: boolean) {
  const { flags } = names.types
  const statements: string[] = []
  let total = 0
  let isExplained = false
  for (let child = tree.firstChild[body] as number; child >= 0; child = tree.nextSibling[child] as number) {
    const childFlags = flags[tree.type[child] as number] as number
    const from = tree.start[child] as number
    if ((childFlags & COMMENT) !== 0) {
      if (!MARKER.test(text.slice(from, Math.min(tree.end[child] as number, from + 400)))) isExplained = true
      continue
    }
    const inner = tree.firstChild[child] as number
    const isDocumentation =
      isPython &&
      total === 0 &&
      inner >= 0 &&
      tree.nextSibling[inner] === -1 &&
      ((flags[tree.type[inner] as number] as number) & STRING) !== 0 &&
      tree.start[inner] === from
    if (isDocumentation) continue
    total += 1
    if (statements.length < MAX_STATEMENTS)
      statements.push(text.slice(from, Math.min(tree.end[child] as number, from + 400)))
  }
  return { statements, total, isExplained }
}

/** Comments and outermost string literals of a tree, in source order. */
export function literalRanges(tree: SyntaxTree, names: TreeNames): { comments: Range[]; strings: Range[] } {
  const comments: Range[] = []
  const strings: Range[] = []
  let done = 0
  for (let node = 0; node < tree.count; node++) {
    const flag = names.types.flags[tree.type[node] as number] as number
    if ((flag & (COMMENT | STRING)) === 0) continue
    const range = { start: tree.start[node] as number, end: tree.end[node] as number }
    if (range.start < done) continue
    ;((flag & COMMENT) === 0 ? strings : comments).push(range)
    done = range.end
  }
  return { comments, strings }
}
