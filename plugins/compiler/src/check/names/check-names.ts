import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { tablesOf } from '../../hir/db/db-tables.ts'
import type { Module } from '../../syntax/ast.ts'
import { MatchesRule } from '../matches/matches-rule.ts'
import { ModuleTypes } from '../types/module-types.ts'
import { ActorsRule } from './actors-rule.ts'
import { CallsRule } from './calls-rule.ts'
import { DbRule } from './db-rule.ts'
import { NamesRule } from './names-rule.ts'
import { OptionsRule } from './options-rule.ts'
import { PurityRule } from './purity-rule.ts'
import { walkBodies } from './walk-bodies.ts'

/** Everything that needs to know what names mean, found in one walk, and what types are wrong. */
export function checkNames(module: Module): Diagnostic[] {
  const tables = tablesOf(module)
  const purity = new PurityRule(tables)
  const rules = [
    new NamesRule(),
    new CallsRule(),
    new DbRule(tables),
    new MatchesRule(),
    new OptionsRule(),
    new ActorsRule()
  ]
  const names = walkBodies(module, [...rules, purity])
  const types = new ModuleTypes(module, names, tables)
  return [...rules.flatMap(({ found }) => found), ...purity.result(module.items), ...types.found]
}
