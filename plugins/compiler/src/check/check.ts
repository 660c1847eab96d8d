import { type Diagnostic, sortDiagnostics } from '../diagnostics/diagnostic.ts'
import type { Module } from '../syntax/ast.ts'
import { checkTypes } from '../types/check-module.ts'
import { lintRules } from '../types/lints/lint-rules.ts'
import { checkInhabited } from '../types/lints/uninhabited-type.ts'
import type { TypedModule } from '../types/typed-module.ts'
import { checkActivities } from './activities.ts'
import { checkAppHooks } from './app-hooks.ts'
import { checkDeclaredTwice, ParametersRule } from './declared-twice.ts'
import { DeferredCallsRule } from './deferred-calls.ts'
import { checkDeprecations } from './deprecations.ts'
import { checkSchedules } from './durations.ts'
import { EmptyNamesRule } from './empty-names.ts'
import { checkFileColumns } from './file-columns.ts'
import { checkForms } from './forms.ts'
import { checkGuards, GuardTargetsRule } from './guards.ts'
import { checkHoles } from './holes.ts'
import { checkImports } from './imports.ts'
import { checkResources } from './mcp-resources.ts'
import { checkMesh } from './mesh.ts'
import { checkNodes } from './node-rule.ts'
import { checkPrompts } from './prompts.ts'
import { checkResponses } from './responses.ts'
import { checkRoutePaths } from './route-paths.ts'
import { checkRoutes } from './routes.ts'
import { checkSecretLeakage } from './secrets/secret-leakage.ts'
import { checkStateMachines } from './state-machines.ts'
import { strictly } from './strict.ts'
import { checkIndexes, checkTables, checkUnique } from './tables.ts'
import { checkThemeContrast } from './theme-contrast.ts'
import { TypeNamesRule } from './type-names.ts'
import { checkUsers } from './users/check-users.ts'
import { checkRuleBypass } from './users/rule-bypass.ts'
import { checkCalls, WordsRule } from './words.ts'
import { checkWorkflows } from './workflows.ts'

export interface CheckOptions {
  /** Suppresses warnings about React hooks in components and islands that are functions. */
  readonly suppressHookLints: boolean
  /** Treats unresolved external names and unknown options as errors. */
  readonly strict?: boolean
  /** Whether a host may supply functions that the program calls and does not declare; true by default. */
  readonly hostFunctions?: boolean
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
  readonly types: TypedModule
}

/** Like `check`, but also returns the types. */
export function checkModule(
  module: Module,
  { suppressHookLints, strict = false, hostFunctions = true, mesh = true }: CheckOptions
): CheckedModule {
  const types = checkTypes(module, { strict, hostFunctions })
  const found = [
    ...checkTables(module),
    ...checkIndexes(module),
    ...checkUnique(module),
    ...checkFileColumns(module),
    ...checkUsers(module),
    ...checkRoutes(module),
    ...checkResponses(module),
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
    ...checkStateMachines(module),
    ...checkThemeContrast(module),
    ...types.diagnostics,
    ...checkRuleBypass(types),
    ...checkSecretLeakage(module, types.names),
    ...checkCalls(module, suppressHookLints),
    ...checkNodes(module, [
      ...lintRules(types),
      new DeferredCallsRule(module),
      new TypeNamesRule(module),
      new WordsRule(module),
      new EmptyNamesRule(),
      new ParametersRule(),
      new GuardTargetsRule(module)
    ]),
    ...checkWorkflows(module)
  ]
  return { diagnostics: sortDiagnostics(strict ? strictly(found) : found), types }
}
