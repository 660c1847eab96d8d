import type { RowAction, RowRules } from '@svc/contracts'
import type { Condition } from '../../database/predicate-sql.ts'
import { fail } from '../../interpreter/failure.ts'
import { type CallerOf, type RuledTable, ruleSql } from './rule-sql.ts'

/** The rules of a table as SQL. Without a rule for an action, binding the condition throws `RUN_FORBIDDEN`. */
export interface TableRules {
  of(action: RowAction): Condition
}

const VERBS: Readonly<Record<RowAction, string>> = {
  read: 'read its rows',
  insert: 'insert rows',
  update: 'update its rows',
  delete: 'delete its rows'
}

/** Returns the rules of a table for the caller that `callerOf` returns. */
export function tableRules(rules: RowRules, table: RuledTable, callerOf: CallerOf): TableRules {
  const known = new Map<RowAction, Condition>()
  return {
    of(action) {
      const rule = rules[action]
      const condition =
        known.get(action) ?? (rule === null ? noRule(rules.table, action) : ruleSql(rule, table, callerOf))
      known.set(action, condition)
      return condition
    }
  }
}

function noRule(table: string, action: RowAction): Condition {
  const message = `${table}: no rule lets callers ${VERBS[action]}; add \`${action}: …\` to its @rule`
  return { sql: '?', binders: [() => fail('RUN_FORBIDDEN', message)] }
}
