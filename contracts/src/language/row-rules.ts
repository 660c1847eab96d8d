/**
 * Row rules of a table, from `@rule`. They apply to all operations of a call whose caller is known, also in functions
 * that it calls. null: no caller may do this; the program itself still may.
 */
export interface RowRules {
  /** Declared name of the table. */
  readonly table: string
  readonly read: RuleCondition | null
  readonly insert: RuleCondition | null
  readonly update: RuleCondition | null
  readonly delete: RuleCondition | null
}

export type RowAction = 'read' | 'insert' | 'update' | 'delete'

export const ROW_ACTIONS: readonly RowAction[] = ['read', 'insert', 'update', 'delete']

export type RuleCondition =
  | { readonly all: readonly RuleCondition[] }
  | { readonly any: readonly RuleCondition[] }
  | { readonly not: RuleCondition }
  | { readonly left: RuleOperand; readonly operator: RuleOperator; readonly right: RuleOperand }
  /** A bool column, or a constant. */
  | { readonly holds: string | boolean }
  /** The caller has proven an identity. */
  | { readonly signedIn: true }
  /** The caller has a role or a scope. */
  | { readonly has: 'roles' | 'scopes'; readonly value: string }

export type RuleOperator = 'is' | 'isnt' | '<' | '<=' | '>' | '>='

/** `user`: a member of the caller's identity. A comparison with it never holds for a caller without an identity. */
export type RuleOperand =
  | { readonly column: string }
  | { readonly user: 'id' | 'provider' }
  /** Digits of an int or a dec are a string, since both may exceed a number. */
  | {
      readonly literal: string | number | boolean | null
      readonly type: 'str' | 'int' | 'float' | 'dec' | 'bool' | 'none'
    }
