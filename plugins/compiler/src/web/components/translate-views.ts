import { liveQueriesOf } from '@svc/contracts'
import type { HirModule } from '../../hir/hir.ts'
import type { Module } from '../../syntax/ast.ts'
import { TypeScriptTypes } from '../../typescript/types.ts'
import { EmittedModule } from '../typescript/emitted-module.ts'
import { isComponent, TranslatedProgram, type ViewDeclaration } from '../typescript/program.ts'
import { type ComponentTranslation, translateComponent } from './component-translation.ts'
import { translateFragment, translateFunctionComponent } from './function-component.ts'

/** Views of a module, as TypeScript. */
export interface TranslatedViews {
  readonly program: TranslatedProgram
  readonly types: TypeScriptTypes
  readonly components: readonly TranslatedView[]
  /** Names of the helpers that the views use. */
  readonly helpers: Set<string>
  /** Names of the program's functions and constants that the views use. */
  readonly shared: Set<string>
}

export interface TranslatedView {
  readonly declaration: ViewDeclaration
  readonly translation: ComponentTranslation
}

export function translateViews(module: Module, hir: HirModule): TranslatedViews {
  const program = new TranslatedProgram(module, new Set(liveQueriesOf(hir).keys()))
  const types = new TypeScriptTypes(hir)
  const helpers = new Set<string>()
  const shared = new Set<string>()
  const components = module.items.flatMap((declaration): TranslatedView[] => {
    if (!isComponent(declaration)) return []
    const file = new EmittedModule(program, types, { helpers, shared, own: declaration.name.text })
    switch (declaration.kind) {
      case 'Component':
        return [{ declaration, translation: translateComponent(declaration, file) }]
      case 'Fragment':
        return [{ declaration, translation: translateFragment(declaration, file) }]
      case 'Function':
        return [{ declaration, translation: translateFunctionComponent(declaration, file) }]
      default:
        return []
    }
  })
  return { program, types, components, helpers, shared }
}
