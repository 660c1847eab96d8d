import { type Doc, hardline, join, layout } from '../doc/doc.ts'
import { arrow, block, Level, operand } from '../typescript/code.ts'
import type { EmittedFile } from '../typescript/emitted-file.ts'
import { header } from '../typescript/header.ts'
import type { EmittedModule } from '../typescript/module.ts'
import { propertyKey } from '../typescript/names.ts'
import type { WebComponent, WebEffect, WebMember, WebProp, WebState } from '../web-ir/tree.ts'
import { jsxExpression } from './jsx.ts'

export interface ComponentFileOptions {
  /** Name of the source file without its extension. */
  readonly source: string
  readonly hasStyle: boolean
}

/** Generates `<Component>.tsx`: a component as a React function. */
export function componentFile(component: WebComponent, { source, hasStyle }: ComponentFileOptions): EmittedFile {
  const { name, props, members, view, file } = component
  const statements = members.flatMap(member => statementsOf(member, file))
  const returned: Doc[] =
    view === null ? (endsInReturn(members) ? [] : ['return null']) : [['return ', jsxExpression(view).doc]]
  // Two line breaks produce an empty line.
  const body = [...spaced(statements), ...(statements.length === 0 ? returned : returned.map(each => [hardline, each]))]
  const text: Doc[] = [
    ...(props.length === 0 ? [] : [propsType(name, props), '']),
    [`export function ${name}(`, parameter(name, props), ') ', block(body)]
  ]
  const printed = layout(join(hardline, text), 2)
  const imports = [...file.imports.lines(), ...(hasStyle ? [`import './${name}.css'`] : [])]
  const head = imports.length === 0 ? '' : `${imports.join('\n')}\n\n`
  return { path: `${name}.tsx`, text: `${header(source)}\n${head}${printed}\n` }
}

function propsType(component: string, props: readonly WebProp[]): Doc {
  const members = props.map(({ name, type, value }) => {
    return `readonly ${propertyKey(name)}${value === null ? '' : '?'}: ${type}`
  })
  return [`export interface ${component}Props `, block(members)]
}

function parameter(component: string, props: readonly WebProp[]): Doc {
  if (props.length === 0) return ''
  const parts = props.map(({ name, variable, value }): Doc => {
    const bound = name === variable ? variable : `${propertyKey(name)}: ${variable}`
    return value === null ? bound : [bound, ' = ', value.code]
  })
  return ['{ ', join(', ', parts), ` }: ${component}Props`]
}

interface Statement {
  readonly code: Doc
  /** True if blank lines are around the statement. */
  readonly isApart: boolean
}

function statementsOf(member: WebMember, file: EmittedModule): Statement[] {
  switch (member.kind) {
    case 'statements':
      return member.codes.map(code => ({ code, isApart: false }))
    case 'response':
      return [{ code: [`const ${member.variable} = `, member.code], isApart: false }]
    case 'state':
      return [{ code: stateCode(member, file), isApart: false }]
    case 'derived': {
      const { variable, type, value } = member
      return [{ code: [`const ${variable}${type === null ? '' : `: ${type}`} = `, value.code], isApart: false }]
    }
    case 'effect':
      return effectStatements(member, file)
  }
}

function stateCode({ variable, setter, type, initial, isLazy }: WebState, file: EmittedModule): Doc {
  const types = type === null ? '' : `<${type}>`
  const value = isLazy ? arrow('()', { doc: initial, level: Level.postfix }).doc : initial
  return [`const [${variable}, ${setter}] = ${file.react('useState')}${types}(`, value, ')']
}

function effectStatements(effect: WebEffect, file: EmittedModule): Statement[] {
  const { moment, dependencies, latest } = effect
  const body: readonly Doc[] = effect.isAsync
    ? [['void ', operand(arrow('async ()', effect.statements), Level.postfix), '()']]
    : effect.statements
  if (moment !== 'cleanup') return [hook(file, body, `, [${dependencies.join(', ')}]`)]
  if (latest === null) return [hook(file, [['return ', arrow('()', body).doc]], ', []')]
  return [
    { code: `const ${latest} = ${file.react('useRef')}(() => {})`, isApart: false },
    hook(file, [[`${latest}.current = `, arrow('()', body).doc]], ''),
    hook(file, [`return () => ${latest}.current()`], ', []')
  ]
}

/** Returns a call of `useEffect`; without dependencies, it runs after each render. */
function hook(file: EmittedModule, body: readonly Doc[], dependencies: string): Statement {
  return { code: [`${file.react('useEffect')}(() => `, block(body), `${dependencies})`], isApart: true }
}

function spaced(statements: readonly Statement[]): Doc[] {
  return statements.map(({ code, isApart }, index) => {
    const before = statements[index - 1]
    return before !== undefined && (isApart || before.isApart) ? [hardline, code] : code
  })
}

function endsInReturn(members: readonly WebMember[]): boolean {
  const last = members.at(-1)
  const code = last?.kind === 'statements' ? (last.codes.at(-1) ?? '') : ''
  const first = Array.isArray(code) ? code[0] : code
  return typeof first === 'string' && first.startsWith('return ')
}
