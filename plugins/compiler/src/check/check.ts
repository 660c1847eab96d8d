import { type Diagnostic, sortDiagnostics } from '../diagnostics/diagnostic.ts'
import type { RecordTypes } from '../hir/lower-expressions.ts'
import type { Module } from '../syntax/ast.ts'
import { DecoratorWithoutEffectRule } from '../types/lints/decorator-without-effect.ts'
import { QuadraticPushRule } from '../types/lints/quadratic-push.ts'
import { checkInhabited } from '../types/lints/uninhabited-type.ts'
import { checkActivities } from './activities.ts'
import { checkAppHooks } from './app-hooks.ts'
import { checkDeclaredTwice, ParametersRule } from './declared-twice.ts'
import { checkDeprecations } from './deprecations.ts'
import { checkSchedules } from './durations.ts'
import { EmptyNamesRule } from './empty-names.ts'
import { checkForms } from './forms.ts'
import { checkGuards, GuardTargetsRule } from './guards.ts'
import { checkHoles } from './holes.ts'
import { checkImports } from './imports.ts'
import { checkJumps } from './jumps.ts'
import { checkResources } from './mcp-resources.ts'
import { checkMesh } from './mesh.ts'
import { checkNames } from './names/check-names.ts'
import { checkNodes } from './node-rule.ts'
import { checkPrompts } from './prompts.ts'
import { checkRoutePaths } from './route-paths.ts'
import { checkRoutes } from './routes.ts'
import { checkStateMachines } from './state-machines.ts'
import { strictly } from './strict.ts'
import { checkIndexes, checkTables, checkUnique } from './tables.ts'
import { checkThemeContrast } from './theme-contrast.ts'
import { TypeNamesRule } from './type-names.ts'
import { checkUsers } from './users/check-users.ts'
import { checkCalls, WordsRule } from './words.ts'
import { checkWorkflows } from './workflows.ts'

export interface CheckOptions {
  /** Suppresses warnings about React hooks in components and islands that are functions. */
  readonly suppressHookLints: boolean
  /** Treats unresolved external names and unknown options as errors. */
  readonly strict?: boolean
  /** Whether a mesh is enabled; undefined skips the checks that depend on it. */
  readonly mesh?: boolean
}

/** Returns the diagnostics of a module with valid syntax, in source order. */
export function check(module: Module, options: CheckOptions): Diagnostic[] {
  return checkModule(module, options).diagnostics
}

export interface CheckedModule {
  /** In the order of the source. */
  readonly diagnostics: Diagnostic[]
  readonly records: RecordTypes
}

/** Like `check`, but also returns the results that the checks collected. */
export function checkModule(
  module: Module,
  { suppressHookLints, strict = false, mesh = true }: CheckOptions
): CheckedModule {
  const names = checkNames(module, strict)
  const found = [
    ...checkTables(module),
    ...checkIndexes(module),
    ...checkUnique(module),
    ...checkUsers(module),
    ...checkRoutes(module),
    ...checkRoutePaths(module),
    ...checkSchedules(module),
    ...checkResources(module),
    ...checkActivities(module),
    ...checkAppHooks(module),
    ...checkImports(module),
    ...checkDeclaredTwice(module),
    ...checkDeprecations(module),
    ...checkForms(module),
    ...checkGuards(module),
    ...checkHoles(module),
    ...checkPrompts(module, mesh),
    ...(mesh ? [] : checkMesh(module)),
    ...checkInhabited(module),
    ...checkJumps(module),
    ...checkStateMachines(module),
    ...checkThemeContrast(module),
    ...names.diagnostics,
    ...checkCalls(module, suppressHookLints),
    ...checkNodes(module, [
      new DecoratorWithoutEffectRule(),
      new QuadraticPushRule(),
      new TypeNamesRule(module),
      new WordsRule(),
      new EmptyNamesRule(),
      new ParametersRule(),
      new GuardTargetsRule(module)
    ]),
    ...checkWorkflows(module)
  ]
  return { diagnostics: sortDiagnostics(strict ? strictly(found) : found), records: names.records }
}
