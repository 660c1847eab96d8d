import { DiagnosticSeverity, DiagnosticTag, type Diagnostic as LspDiagnostic, type Range } from 'vscode-languageserver'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Analysis } from './analysis.ts'

/** The `data` of a published diagnostic. */
export interface DiagnosticData {
  readonly fixes: readonly { readonly label: string; readonly range: Range; readonly replacement: string }[]
  readonly suggestions: readonly string[]
}

const DEPRECATED: ReadonlySet<string> = new Set(['W092', 'typecheck.deprecated_ident'])

export function publishedDiagnostics(analysis: Analysis): LspDiagnostic[] {
  return analysis.diagnostics.map(diagnostic => published(diagnostic, analysis))
}

function published(diagnostic: Diagnostic, analysis: Analysis): LspDiagnostic {
  const { code, severity, span, fixes, suggestions, related } = diagnostic
  const data: DiagnosticData = {
    fixes: fixes.map(fix => ({ label: fix.label, range: analysis.range(fix.span), replacement: fix.replacement })),
    suggestions
  }
  return {
    range: analysis.range(span),
    severity: severity === 'error' ? DiagnosticSeverity.Error : DiagnosticSeverity.Warning,
    code,
    source: 'svc-lsp',
    message: messageOf(diagnostic),
    data,
    ...(DEPRECATED.has(code) ? { tags: [DiagnosticTag.Deprecated] } : {}),
    ...(related.length === 0
      ? {}
      : {
          relatedInformation: related.map(each => ({
            location: { uri: analysis.document.uri, range: analysis.range(each.span) },
            message: each.message
          }))
        })
  }
}

/** Joins message and suggestions, since editors show a single string. */
function messageOf({ message, expectedType, foundType, suggestions }: Diagnostic): string {
  const types = expectedType === null ? [] : [`expected \`${expectedType}\`, found \`${foundType ?? 'another type'}\``]
  return [message, ...types, ...suggestions].join('\n')
}
