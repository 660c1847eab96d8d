import type {
  HirActivity,
  HirActor,
  HirAgent,
  HirColumn,
  HirEndpoint,
  HirFunction,
  HirHandler,
  HirMigration,
  HirModule,
  HirProcess,
  HirResource,
  HirRoute,
  HirStateField,
  HirTable,
  HirTool,
  HirTypeDeclaration
} from '@svc/contracts'
import type { DefId, IrBlock, IrExpression, IrParam } from './ir-expressions.ts'

/**
 * A module with resolved names and parsed decorators, in exactly the form of the IR document. A struct is an object, an
 * enum variant is `{"Variant": payload}`, and spans are byte offsets into the UTF-8 source. Optional keys are
 * extensions that consumers of the original fifteen arrays ignore.
 */
export interface IrModule extends Pick<HirModule, 'imports' | 'rust_imports'> {
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

/** A declaration whose code is in the form of the document. */
type Written<Declared extends { readonly params?: unknown; readonly code: unknown }> = Omit<
  Declared,
  'params' | 'code'
> & { readonly params: readonly IrParam[]; readonly body: IrBlock }

interface Defined {
  readonly id: DefId
}

export type IrFunction = Written<HirFunction> & Defined & { readonly postconditions: readonly IrPostcondition[] }

interface IrPostcondition {
  readonly condition: IrExpression
  readonly fallback: string | null
}

type IrTypeDeclaration = HirTypeDeclaration & Defined

export type IrRoute = Omit<Written<HirRoute>, 'params'> & { readonly params?: readonly IrParam[] }

export type IrHandler = Written<HirHandler>

export interface IrStateField extends HirStateField {
  readonly default?: IrExpression
}

export interface IrActor extends Omit<HirActor, 'params' | 'state_fields' | 'handlers' | 'code'>, Defined {
  readonly params?: readonly IrParam[]
  readonly state_fields?: readonly IrStateField[]
  readonly handlers: readonly IrHandler[]
}

export type IrProcess = Written<HirProcess> & Defined

export type IrActivity = Written<Omit<HirActivity, 'optionsCode'>> &
  Defined & {
    /** Options after `with`. */
    readonly options?: IrExpression
  }

export type IrEndpoint = Written<HirEndpoint> & Defined

export interface IrTable extends Omit<HirTable, 'fields'>, Defined {
  /** Columns without `_id`, which every table has. */
  readonly fields: readonly IrColumn[]
}

interface IrColumn extends Omit<HirColumn, 'code'> {
  readonly default?: IrExpression
}

interface IrTool extends Omit<HirTool, 'func'> {
  readonly func: IrFunction
}

interface IrResource extends Omit<HirResource, 'func'> {
  readonly func: IrFunction
}

export interface IrAgent
  extends Omit<HirAgent, 'state_fields' | 'handlers' | 'migrations' | 'properties' | 'code'>,
    Defined {
  readonly state_fields: readonly IrStateField[]
  readonly handlers: readonly (IrHandler & { readonly is_traced: boolean })[]
  readonly migrations: readonly IrMigration[]
  /** Properties such as `instructions` and `tools`. */
  readonly properties?: readonly { readonly name: string; readonly value: IrExpression }[]
}

interface IrMigration extends Omit<HirMigration, 'code'> {
  readonly body: IrBlock
}
