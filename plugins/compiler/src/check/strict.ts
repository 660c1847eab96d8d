import type { DiagnosticCode } from '../diagnostics/codes.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'

/** Warnings that are errors in a strict check. */
const LENIENT: ReadonlySet<DiagnosticCode> = new Set<DiagnosticCode>([
  'E0301',
  'lint.db_unsafe_query',
  'typecheck.activity.no_return_type',
  'typecheck.annotation_needed',
  'typecheck.db.type',
  'typecheck.duplicate_name',
  'typecheck.missing_field',
  'typecheck.return_mismatch',
  'typecheck.rust_import.unpinned',
  'typecheck.undefined',
  'typecheck.undefined_type',
  'typecheck.unknown_std',
  'typecheck.with.option_type',
  'typecheck.with.unknown_option',
  'vox/auth/endpoint-missing-decorator',
  'vox/effect/missing-declaration',
  'vox/effect/missing-fs-decl',
  'vox/effect/missing-llm-decl',
  'vox/effect/missing-net-decl',
  'vox/effect/missing-random-decl',
  'vox/effect/missing-secret-decl',
  'vox/effect/missing-time-decl',
  'vox/effect/pure-violation',
  'vox/fixture/unfilled-hole',
  'vox/form/missing-label',
  'vox/prompt/secret-leakage',
  'vox/workflow/non-deterministic-call'
])

/** Returns the findings, with the warnings above as errors. */
export function strictly(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return diagnostics.map(each => (LENIENT.has(each.code) ? { ...each, severity: 'error' } : each))
}
