import type { HirParam, HirSpan } from './hir.ts'
import type { HirDbOperator, HirDbPlan } from './hir-plan.ts'

export type HirType =
  | { readonly Named: string }
  | { readonly Generic: readonly [name: string, args: readonly HirType[]] }
  | { readonly Function: readonly [params: readonly HirType[], result: HirType] }
  | { readonly Tuple: readonly HirType[] }
  | 'Unit'
  | 'Decimal'

export type HirBlock = readonly HirStatement[]

export type HirStatement =
  | {
      readonly Let: {
        readonly pattern: HirPattern
        readonly type_ann: HirType | null
        readonly value: HirExpression
        readonly mutable: boolean
        readonly span: HirSpan
      }
    }
  | { readonly Assign: { readonly target: HirExpression; readonly value: HirExpression; readonly span: HirSpan } }
  | { readonly Return: { readonly value: HirExpression | null; readonly span: HirSpan } }
  | { readonly Expr: { readonly expr: HirExpression; readonly span: HirSpan } }
  | { readonly While: { readonly condition: HirExpression; readonly body: HirBlock; readonly span: HirSpan } }
  | { readonly Loop: { readonly body: HirBlock; readonly span: HirSpan } }
  | { readonly Break: { readonly span: HirSpan } }
  | { readonly Continue: { readonly span: HirSpan } }

export type HirPattern =
  | { readonly Ident: readonly [name: string, span: HirSpan] }
  | { readonly Tuple: readonly [items: readonly HirPattern[], span: HirSpan] }
  | { readonly Constructor: readonly [name: string, args: readonly HirPattern[], span: HirSpan] }
  | { readonly Wildcard: HirSpan }
  | { readonly Literal: readonly [value: HirExpression, span: HirSpan] }
  /** `A | B`: an extension. */
  | { readonly Or: readonly [patterns: readonly HirPattern[], span: HirSpan] }

export type HirBinaryOperator =
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

export interface HirArgument {
  readonly name: string | null
  readonly value: HirExpression
}

export interface HirMatchArm {
  readonly pattern: HirPattern
  readonly guard: HirExpression | null
  readonly body: HirExpression
  readonly span: HirSpan
}

export interface HirAttribute {
  readonly name: string
  readonly value: HirExpression
}

type Entry = readonly [key: string, value: HirExpression]

export type HirExpression =
  /** A bigint beyond 2^53. */
  | { readonly IntLit: readonly [value: number | bigint, span: HirSpan] }
  | { readonly FloatLit: readonly [value: number, span: HirSpan] }
  | { readonly StringLit: readonly [value: string, span: HirSpan] }
  | { readonly BoolLit: readonly [value: boolean, span: HirSpan] }
  | { readonly DecimalLit: readonly [digits: string, span: HirSpan] }
  | { readonly Ident: readonly [name: string, span: HirSpan] }
  | { readonly ObjectLit: readonly [entries: readonly Entry[], span: HirSpan] }
  | { readonly ListLit: readonly [items: readonly HirExpression[], span: HirSpan] }
  /** The unit value is the empty tuple. */
  | { readonly TupleLit: readonly [items: readonly HirExpression[], span: HirSpan] }
  | {
      readonly Binary: readonly [operator: HirBinaryOperator, left: HirExpression, right: HirExpression, span: HirSpan]
    }
  | { readonly Unary: readonly [operator: 'Not' | 'Neg', operand: HirExpression, span: HirSpan] }
  | {
      readonly Call: readonly [callee: HirExpression, args: readonly HirArgument[], isOptional: false, span: HirSpan]
    }
  | {
      readonly MethodCall: readonly [object: HirExpression, method: string, args: readonly HirArgument[], span: HirSpan]
    }
  | { readonly FieldAccess: readonly [object: HirExpression, field: string, span: HirSpan] }
  | { readonly Index: readonly [object: HirExpression, index: HirExpression, span: HirSpan] }
  | { readonly DbTableOp: HirDbTableOp }
  | { readonly Match: readonly [subject: HirExpression, arms: readonly HirMatchArm[], span: HirSpan] }
  | { readonly If: readonly [condition: HirExpression, then: HirBlock, other: HirBlock | null, span: HirSpan] }
  | { readonly For: readonly [binding: string, iterable: HirExpression, body: HirExpression, span: HirSpan] }
  | {
      readonly Lambda: readonly [
        params: readonly HirParam[],
        result: HirType | null,
        body: HirExpression,
        span: HirSpan
      ]
    }
  | { readonly Pipe: readonly [left: HirExpression, right: HirExpression, span: HirSpan] }
  | { readonly Spawn: readonly [target: HirExpression, span: HirSpan] }
  | { readonly With: readonly [operand: HirExpression, options: HirExpression, span: HirSpan] }
  | { readonly Block: readonly [statements: HirBlock, span: HirSpan] }
  | { readonly Try: { readonly target: HirExpression; readonly span: HirSpan } }
  | {
      readonly Jsx: {
        readonly tag: string
        readonly attributes: readonly HirAttribute[]
        readonly children: readonly HirExpression[]
        readonly span: HirSpan
      }
    }
  | {
      readonly JsxSelfClosing: {
        readonly tag: string
        readonly attributes: readonly HirAttribute[]
        readonly span: HirSpan
      }
    }
  | HirExtension

/** Extensions to the IR document's original fifteen arrays. Only programs with newer features contain them. */
export type HirExtension =
  | {
      /** `for` with a pattern, an index or a key. */
      readonly ForEach: {
        readonly binding: HirPattern
        readonly index: string | null
        readonly iterable: HirExpression
        readonly key: HirExpression | null
        readonly body: HirExpression
        readonly span: HirSpan
      }
    }
  | { readonly StructLit: { readonly name: string; readonly fields: readonly Entry[]; readonly span: HirSpan } }
  | { readonly SideEffect: { readonly body: HirBlock; readonly span: HirSpan } }
  | { readonly JsxFragment: { readonly children: readonly HirExpression[]; readonly span: HirSpan } }

/** An operation on a table, parsed from a chain of calls on `db`. */
export interface HirDbTableOp {
  readonly table: string
  readonly op: HirDbOperator
  /** Predicate values in order, each named after its column. */
  readonly args: readonly HirArgument[]
  readonly select_cols: readonly string[] | null
  readonly order_by: readonly [column: string, ascending: boolean] | null
  readonly limit: HirExpression | null
  readonly plan: HirDbPlan
  /** Number of rows that are skipped. */
  readonly offset?: HirExpression
  /** With this key, the result is a `Page`. The cursor is null if the program gives none. */
  readonly page?: { readonly size: HirExpression; readonly cursor: HirExpression | null }
  readonly span: HirSpan
}
