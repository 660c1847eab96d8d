import type { HirImport, HirRustImport, HirSpan, HirType, HirTypeDeclaration } from '@svc/contracts'
import type { DefId, IrBlock, IrExpression, IrParam } from './ir-expressions.ts'

/**
 * A module with resolved names and parsed decorators, in exactly the form of the IR document. A struct is an object, an
 * enum variant is `{"Variant": payload}`, and spans are byte offsets into the UTF-8 source. Optional keys are
 * extensions that consumers of the original fifteen arrays ignore.
 */
export interface IrModule {
  readonly imports: readonly HirImport[]
  readonly rust_imports: readonly HirRustImport[]
  readonly functions: readonly IrFunction[]
  readonly types: readonly IrTypeDeclaration[]
  readonly routes: readonly IrRoute[]
  readonly actors: readonly IrActor[]
  readonly workflows: readonly IrProcess[]
  readonly activities: readonly IrActivity[]
  readonly server_fns: readonly IrEndpoint[]
  readonly query_fns: readonly IrEndpoint[]
  readonly mutation_fns: readonly IrEndpoint[]
  readonly tables: readonly IrTable[]
  readonly mcp_tools: readonly IrTool[]
  readonly mcp_resources: readonly IrResource[]
  readonly agents: readonly IrAgent[]
}

export interface IrFunction {
  readonly id: DefId
  readonly name: string
  readonly generics: readonly string[]
  readonly params: readonly IrParam[]
  readonly return_type: HirType | null
  readonly body: IrBlock
  readonly is_component: boolean
  readonly is_async: boolean
  readonly is_pub: boolean
  readonly is_mobile_native: boolean
  readonly is_pure: boolean
  readonly is_llm: boolean
  readonly llm_model?: string
  readonly is_deprecated: boolean
  /** As in the source: `1h`. */
  readonly schedule_interval?: string
  readonly postconditions: readonly IrPostcondition[]
  readonly span: HirSpan
}

export interface IrPostcondition {
  readonly condition: IrExpression
  readonly fallback: string | null
}

export interface IrTypeDeclaration extends HirTypeDeclaration {
  readonly id: DefId
}

export interface IrRoute {
  readonly method: 'Get' | 'Post' | 'Put' | 'Delete'
  readonly path: string
  /** Method and path: `GET /tasks`. */
  readonly route_contract: string
  readonly params?: readonly IrParam[]
  readonly return_type: HirType | null
  readonly body: IrBlock
  readonly span: HirSpan
}

export interface IrHandler {
  readonly event_name: string
  readonly params: readonly IrParam[]
  readonly return_type: HirType | null
  readonly body: IrBlock
  readonly span: HirSpan
}

export interface IrStateField {
  readonly name: string
  readonly type_ann: HirType | null
  readonly default?: IrExpression
  readonly span: HirSpan
}

export interface IrActor {
  readonly id: DefId
  readonly name: string
  readonly params?: readonly IrParam[]
  readonly state_fields?: readonly IrStateField[]
  readonly handlers: readonly IrHandler[]
  readonly span: HirSpan
}

/** A workflow. */
export interface IrProcess {
  readonly id: DefId
  readonly name: string
  readonly params: readonly IrParam[]
  readonly return_type: HirType | null
  readonly body: IrBlock
  readonly span: HirSpan
}

export interface IrActivity extends IrProcess {
  /** Options after `with`. */
  readonly options?: IrExpression
}

export interface IrEndpoint {
  readonly id: DefId
  readonly name: string
  readonly params: readonly IrParam[]
  readonly return_type: HirType | null
  readonly body: IrBlock
  readonly route_path: string
  readonly span: HirSpan
}

export interface IrTable {
  readonly id: DefId
  readonly name: string
  /** Columns without `_id`, which every table has. */
  readonly fields: readonly IrColumn[]
  readonly is_pub: boolean
  readonly is_deprecated: boolean
  readonly span: HirSpan
}

export interface IrColumn {
  readonly name: string
  readonly type_ann: HirType
  readonly default?: IrExpression
  readonly span: HirSpan
}

export interface IrTool {
  readonly description: string
  readonly func: IrFunction
}

export interface IrResource {
  readonly uri: string
  readonly description: string
  readonly func: IrFunction
}

export interface IrAgent {
  readonly id: DefId
  readonly name: string
  readonly version: string | null
  readonly state_fields: readonly IrStateField[]
  readonly handlers: readonly (Omit<IrHandler, 'span'> & { readonly is_traced: boolean; readonly span: HirSpan })[]
  readonly migrations: readonly IrMigration[]
  /** Properties such as `instructions` and `tools`. */
  readonly properties?: readonly { readonly name: string; readonly value: IrExpression }[]
  readonly is_deprecated: boolean
  readonly span: HirSpan
}

export interface IrMigration {
  readonly from_version: string
  readonly body: IrBlock
  readonly span: HirSpan
}
