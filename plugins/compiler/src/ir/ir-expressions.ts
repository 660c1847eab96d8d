import type { HirDbOperator, HirDbPlan, HirSpan, HirType } from '@svc/contracts'

/** Number of a definition, unique in its module. */
export type DefId = number

export interface IrParam {
  readonly id: DefId
  readonly name: string
  readonly type_ann: HirType | null
  readonly default: IrExpression | null
  readonly span: HirSpan
}

export type IrBlock = readonly IrStatement[]

export type IrStatement =
  | {
      readonly Let: {
        readonly pattern: IrPattern
        readonly type_ann: HirType | null
        readonly value: IrExpression
        readonly mutable: boolean
        readonly span: HirSpan
      }
    }
  | { readonly Assign: { readonly target: IrExpression; readonly value: IrExpression; readonly span: HirSpan } }
  | { readonly Return: { readonly value: IrExpression | null; readonly span: HirSpan } }
  | { readonly Expr: { readonly expr: IrExpression; readonly span: HirSpan } }
  | { readonly While: { readonly condition: IrExpression; readonly body: IrBlock; readonly span: HirSpan } }
  | { readonly Loop: { readonly body: IrBlock; readonly span: HirSpan } }
  | { readonly Break: { readonly span: HirSpan } }
  | { readonly Continue: { readonly span: HirSpan } }

export type IrPattern =
  | { readonly Ident: readonly [name: string, span: HirSpan] }
  | { readonly Tuple: readonly [items: readonly IrPattern[], span: HirSpan] }
  | { readonly Constructor: readonly [name: string, args: readonly IrPattern[], span: HirSpan] }
  | { readonly Wildcard: HirSpan }
  | { readonly Literal: readonly [value: IrExpression, span: HirSpan] }
  /** `A | B`: an extension. */
  | { readonly Or: readonly [patterns: readonly IrPattern[], span: HirSpan] }

export type IrBinaryOperator =
  | 'Add'
  | 'Sub'
  | 'Mul'
  | 'Div'
  | 'Mod'
  | 'Lt'
  | 'Gt'
  | 'Lte'
  | 'Gte'
  | 'And'
  | 'Or'
  | 'Is'
  | 'Isnt'

export interface IrArgument {
  readonly name: string | null
  readonly value: IrExpression
}

export interface IrMatchArm {
  readonly pattern: IrPattern
  readonly guard: IrExpression | null
  readonly body: IrExpression
  readonly span: HirSpan
}

export interface IrAttribute {
  readonly name: string
  readonly value: IrExpression
}

type Entry = readonly [key: string, value: IrExpression]

export type IrExpression =
  /** A bigint beyond 2^53. */
  | { readonly IntLit: readonly [value: number | bigint, span: HirSpan] }
  | { readonly FloatLit: readonly [value: number, span: HirSpan] }
  | { readonly StringLit: readonly [value: string, span: HirSpan] }
  | { readonly BoolLit: readonly [value: boolean, span: HirSpan] }
  | { readonly DecimalLit: readonly [digits: string, span: HirSpan] }
  | { readonly Ident: readonly [name: string, span: HirSpan] }
  | { readonly ObjectLit: readonly [entries: readonly Entry[], span: HirSpan] }
  | { readonly ListLit: readonly [items: readonly IrExpression[], span: HirSpan] }
  /** The unit value is the empty tuple. */
  | { readonly TupleLit: readonly [items: readonly IrExpression[], span: HirSpan] }
  | {
      readonly Binary: readonly [operator: IrBinaryOperator, left: IrExpression, right: IrExpression, span: HirSpan]
    }
  | { readonly Unary: readonly [operator: 'Not' | 'Neg', operand: IrExpression, span: HirSpan] }
  | {
      readonly Call: readonly [callee: IrExpression, args: readonly IrArgument[], isOptional: false, span: HirSpan]
    }
  | {
      readonly MethodCall: readonly [object: IrExpression, method: string, args: readonly IrArgument[], span: HirSpan]
    }
  | { readonly FieldAccess: readonly [object: IrExpression, field: string, span: HirSpan] }
  | { readonly Index: readonly [object: IrExpression, index: IrExpression, span: HirSpan] }
  | { readonly DbTableOp: IrDbTableOp }
  | { readonly Match: readonly [subject: IrExpression, arms: readonly IrMatchArm[], span: HirSpan] }
  | { readonly If: readonly [condition: IrExpression, then: IrBlock, other: IrBlock | null, span: HirSpan] }
  | { readonly For: readonly [binding: string, iterable: IrExpression, body: IrExpression, span: HirSpan] }
  | {
      readonly Lambda: readonly [params: readonly IrParam[], result: HirType | null, body: IrExpression, span: HirSpan]
    }
  | { readonly Pipe: readonly [left: IrExpression, right: IrExpression, span: HirSpan] }
  | { readonly Spawn: readonly [target: IrExpression, span: HirSpan] }
  | { readonly With: readonly [operand: IrExpression, options: IrExpression, span: HirSpan] }
  | { readonly Block: readonly [statements: IrBlock, span: HirSpan] }
  | { readonly Try: { readonly target: IrExpression; readonly span: HirSpan } }
  | {
      readonly Jsx: {
        readonly tag: string
        readonly attributes: readonly IrAttribute[]
        readonly children: readonly IrExpression[]
        readonly span: HirSpan
      }
    }
  | {
      readonly JsxSelfClosing: {
        readonly tag: string
        readonly attributes: readonly IrAttribute[]
        readonly span: HirSpan
      }
    }
  | IrExtension

/** Extensions to the IR document's original fifteen arrays. Only programs with newer features contain them. */
export type IrExtension =
  | {
      /** `for` with a pattern, an index or a key. */
      readonly ForEach: {
        readonly binding: IrPattern
        readonly index: string | null
        readonly iterable: IrExpression
        readonly key: IrExpression | null
        readonly body: IrExpression
        readonly span: HirSpan
      }
    }
  | { readonly StructLit: { readonly name: string; readonly fields: readonly Entry[]; readonly span: HirSpan } }
  | { readonly SideEffect: { readonly body: IrBlock; readonly span: HirSpan } }
  | { readonly JsxFragment: { readonly children: readonly IrExpression[]; readonly span: HirSpan } }

/** An operation on a table, parsed from a chain of calls on `db`. */
export interface IrDbTableOp {
  readonly table: string
  readonly op: HirDbOperator
  /** Predicate values in order, each named after its column. */
  readonly args: readonly IrArgument[]
  readonly select_cols: readonly string[] | null
  readonly order_by: readonly [column: string, ascending: boolean] | null
  readonly limit: IrExpression | null
  readonly plan: HirDbPlan
  /** Number of rows that are skipped. */
  readonly offset?: IrExpression
  /** With this key, the result is a `Page`. The cursor is null if the program gives none. */
  readonly page?: { readonly size: IrExpression; readonly cursor: IrExpression | null }
  readonly span: HirSpan
}
