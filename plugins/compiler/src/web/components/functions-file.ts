import { type Doc, hardline, join, layout } from '../../doc/doc.ts'
import type { Const, FunctionDeclaration } from '../../syntax/ast.ts'
import { boundNames } from '../../types/module-names.ts'
import { block } from '../../typescript/code.ts'
import { valueName } from '../../typescript/names.ts'
import type { WebTree } from '../../web-ir/tree.ts'
import type { EmittedFile } from '../emitted-file.ts'
import { header } from '../header.ts'
import { EmittedModule } from '../typescript/emitted-module.ts'
import { Scope } from '../typescript/scope.ts'
import { usedNames } from '../typescript/used-names.ts'
import { isPlain } from '../typescript/value-types.ts'
import { ViewTranslator } from '../typescript/view-translator.ts'

/**
 * Generates `vox-functions.tsx` with the functions and constants that components use, and their dependencies. null if
 * there are none.
 */
export function functionsFile({ program, types, helpers, shared }: WebTree, source: string): EmittedFile | null {
  if (shared.size === 0) return null
  const file = new EmittedModule(program, types, { helpers, shared, isShared: true })
  const made = new Map<FunctionDeclaration | Const, Doc>()
  for (let before = -1; before !== made.size; ) {
    before = made.size
    for (const name of [...shared]) {
      const declaration = program.names.get(name)?.declaration
      if (declaration === undefined || made.has(declaration as Const)) continue
      if (declaration.kind === 'Const') made.set(declaration, constantDoc(declaration, file))
      if (declaration.kind === 'Function') made.set(declaration, functionDoc(declaration, file))
    }
  }
  // Constants come first, in source order, since only functions may be used before their declaration.
  const isFunction = (each: FunctionDeclaration | Const): number => (each.kind === 'Const' ? 0 : 1)
  const ordered = [...made].sort(([a], [b]) => isFunction(a) - isFunction(b) || a.start - b.start)
  const printed = layout(
    join(
      [hardline, hardline],
      ordered.map(([, doc]) => doc)
    ),
    2
  )
  const imports = file.imports.lines()
  const head = imports.length === 0 ? '' : `${imports.join('\n')}\n\n`
  return { path: 'vox-functions.tsx', text: `${header(source)}\n${head}${printed}\n` }
}

function functionDoc(declaration: FunctionDeclaration, outer: EmittedModule): Doc {
  const { name, generics, params, result, body } = declaration
  const { program } = outer
  const file = outer.within(new Set(generics.map(({ text }) => text)))
  const scope = new Scope(null, usedNames(declaration, program))
  const view = new ViewTranslator(file, scope)
  const list = view.params(params, [])
  const found = program.resultOf(declaration)
  const isAsync = program.isAsync(name.text)
  const isUnit = isPlain(found, 'Unit')
  const type = isUnit ? 'void' : result === null ? file.valueType(found) : file.type(result)
  const annotation = type === null ? '' : `: ${isAsync ? `Promise<${type}>` : type}`
  const open = generics.length === 0 ? '' : `<${generics.map(({ text }) => text).join(', ')}>`
  const statements =
    body === null
      ? []
      : view.functionBody(
          body,
          {
            mayAwait: isAsync,
            isLater: false,
            isInLoop: false,
            onFailure: isUnit ? 'throw' : 'return',
            newest: new Map()
          },
          { kind: isUnit ? 'drop' : 'return' }
        )
  return [
    `export ${isAsync ? 'async ' : ''}function ${valueName(name.text)}${open}`,
    list,
    annotation,
    ' ',
    block(statements)
  ]
}

/** Scope of exported constants, which keep their names. */
class ConstantScope extends Scope {
  readonly #names: ReadonlySet<string>

  constructor(names: readonly string[]) {
    super()
    this.#names = new Set(names)
  }

  override fresh(preferred: string): string {
    return this.#names.has(preferred) ? valueName(preferred) : super.fresh(preferred)
  }
}

function constantDoc({ statement }: Const, file: EmittedModule): Doc {
  const names = statement.kind === 'Let' ? boundNames(statement.pattern).map(({ text }) => text) : []
  const scope = new ConstantScope(names)
  const view = new ViewTranslator(file, scope)
  const statements = view.written(() => view.statement(statement, { kind: 'drop' }))
  const last = statements.at(-1)
  if (last === undefined) return ''
  return [...statements.slice(0, -1).map(each => [each, hardline] as Doc), 'export ', last]
}
