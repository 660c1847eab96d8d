import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { RecordTypes } from '../../hir/lower-expressions.ts'
import type { Module } from '../../syntax/ast.ts'
import { tablesOf } from '../../types/db/db-tables.ts'
import { MatchesRule } from '../matches/matches-rule.ts'
import { checkSecretLeakage } from '../secrets/secret-leakage.ts'
import { ModuleTypes } from '../types/module-types.ts'
import { RuleBypassRule } from '../users/rule-bypass.ts'
import { ActorsRule } from './actors-rule.ts'
import { CallsRule } from './calls-rule.ts'
import { DbRule } from './db-rule.ts'
import { DurationsRule } from './durations-rule.ts'
import { EffectsRule } from './effects-rule.ts'
import { NamesRule } from './names-rule.ts'
import { OptionsRule } from './options-rule.ts'
import { PurityRule } from './purity-rule.ts'
import { RequestRule } from './request-rule.ts'
import { RustRule } from './rust-rule.ts'
import { StdRule } from './std-rule.ts'
import { walkBodies } from './walk-bodies.ts'

export interface CheckedNames {
  readonly diagnostics: readonly Diagnostic[]
  readonly records: RecordTypes
}

/**
 * Runs all checks that need name resolution or types, in one walk. With `strict`, names from the host must be declared,
 * too.
 */
export function checkNames(module: Module, strict: boolean): CheckedNames {
  const tables = tablesOf(module)
  const purity = new PurityRule(tables)
  const effects = new EffectsRule()
  const bypass = new RuleBypassRule(module)
  const rules = [
    new NamesRule(strict),
    new CallsRule(),
    new DbRule(tables),
    new MatchesRule(),
    new OptionsRule(),
    new DurationsRule(),
    new ActorsRule(),
    new RequestRule(),
    new RustRule(),
    new StdRule()
  ]
  const names = walkBodies(module, [...rules, purity, effects, bypass])
  const types = new ModuleTypes(module, names, tables)
  const diagnostics = [
    ...rules.flatMap(({ found }) => found),
    ...purity.result(module.items),
    ...effects.result(module.items),
    ...bypass.result(module.items),
    ...types.found,
    ...checkSecretLeakage(module, names)
  ]
  return { diagnostics, records: types.records }
}
