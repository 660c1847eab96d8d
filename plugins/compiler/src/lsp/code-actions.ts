import { type CodeAction, CodeActionKind, type Diagnostic as LspDiagnostic } from 'vscode-languageserver'
import type { DiagnosticData } from './published-diagnostics.ts'

/** Returns a quick fix for each fix of a diagnostic. */
export function codeActions(uri: string, diagnostics: readonly LspDiagnostic[]): CodeAction[] {
  return diagnostics.flatMap(diagnostic => {
    const { fixes = [] } = (diagnostic.data ?? {}) as Partial<DiagnosticData>
    return fixes.map(({ label, range, replacement }) => ({
      title: label,
      kind: CodeActionKind.QuickFix,
      diagnostics: [diagnostic],
      isPreferred: fixes.length === 1,
      edit: { changes: { [uri]: [{ range, newText: replacement }] } }
    }))
  })
}
