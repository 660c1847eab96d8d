import { type Doc, hardline, join, layout } from '../../doc/doc.ts'
import { block } from '../../typescript/code.ts'
import { propertyKey } from '../../typescript/names.ts'
import type { EmittedFile } from '../emitted-file.ts'
import { header } from '../header.ts'
import { type ViewNode, viewDoc } from '../typescript/view-node.ts'
import { elementCode } from '../typescript/view-translator.ts'
import type { ComponentParam, ComponentTranslation } from './component-translation.ts'

export interface ComponentFileOptions {
  /** Name of the source file without its extension. */
  readonly source: string
  readonly hasStyle: boolean
}

/** Generates `<Component>.tsx`: a component as a React function that shows `view`. */
export function componentFile(
  translation: ComponentTranslation,
  view: ViewNode | null,
  { source, hasStyle }: ComponentFileOptions
): EmittedFile {
  const { name, params, statements, file } = translation
  const returned =
    view === null ? (endsInReturn(statements) ? [] : ['return null']) : [['return ', returnedDoc(translation, view)]]
  // Two line breaks produce an empty line.
  const body = [...spaced(statements), ...(statements.length === 0 ? returned : returned.map(each => [hardline, each]))]
  const text: Doc[] = [
    ...(params.length === 0 ? [] : [propsOf(name, params), '']),
    [`export function ${name}(`, parameterOf(name, params), ') ', block(body)]
  ]
  const printed = layout(join(hardline, text), 2)
  const imports = [...file.imports.lines(), ...(hasStyle ? [`import './${name}.css'`] : [])]
  const head = imports.length === 0 ? '' : `${imports.join('\n')}\n\n`
  return { path: `${name}.tsx`, text: `${header(source)}\n${head}${printed}\n` }
}

/** Prints a view as JSX. */
export function viewText({ resolve }: ComponentTranslation, view: ViewNode): Doc {
  const isElement = view.kind === 'element' || view.kind === 'island' || view.kind === 'fragment'
  return viewDoc(isElement ? view : { kind: 'fragment', children: [view] }, resolve)
}

function returnedDoc(translation: ComponentTranslation, view: ViewNode): Doc {
  return elementCode(view, viewText(translation, view)).doc
}

function propsOf(name: string, params: readonly ComponentParam[]): Doc {
  const members = params.map(({ property, type, value }) => {
    return `readonly ${propertyKey(property)}${value === null ? '' : '?'}: ${type}`
  })
  return [`export interface ${name}Props `, block(members)]
}

function parameterOf(name: string, params: readonly ComponentParam[]): Doc {
  if (params.length === 0) return ''
  const parts = params.map(({ property, variable, value }): Doc => {
    const bound = property === variable ? variable : `${propertyKey(property)}: ${variable}`
    return value === null ? bound : [bound, ' = ', value]
  })
  return ['{ ', join(', ', parts), ` }: ${name}Props`]
}

/** Adds blank lines around effects. */
function spaced(statements: readonly Doc[]): Doc[] {
  return statements.flatMap((statement, index): Doc[] => {
    const before = statements[index - 1]
    return index > 0 && (isEffect(statement) || (before !== undefined && isEffect(before)))
      ? [[hardline, statement]]
      : [statement]
  })
}

function isEffect(statement: Doc): boolean {
  return Array.isArray(statement) && typeof statement[0] === 'string' && statement[0].startsWith('useEffect(')
}

function endsInReturn(statements: readonly Doc[]): boolean {
  const last = statements.at(-1)
  const first = Array.isArray(last) ? last[0] : last
  return typeof first === 'string' && first.startsWith('return ')
}
