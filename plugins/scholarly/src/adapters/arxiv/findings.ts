import type { PreflightFinding } from '@svc/contracts'

/** Codes of the checks of a bundle. The preflight profile `arxiv_assist` has further ones. */
export const ARXIV_BUNDLE_CODES = [
  'arxiv_braces_unbalanced',
  'arxiv_character_unsupported',
  'arxiv_citation_unknown',
  'arxiv_command_unknown',
  'arxiv_environment_unbalanced',
  'arxiv_figure_large',
  'arxiv_file_name',
  'arxiv_file_type',
  'arxiv_footnote_unused',
  'arxiv_hidden_file',
  'arxiv_html_ignored',
  'arxiv_image_changed',
  'arxiv_image_format',
  'arxiv_image_missing',
  'arxiv_image_remote',
  'arxiv_label_missing',
  'arxiv_layout',
  'arxiv_math_unsupported',
  'arxiv_path_outside',
  'arxiv_size'
] as const
export type ArxivBundleCode = (typeof ARXIV_BUNDLE_CODES)[number]

/** Collects findings; each text is listed once. */
export class Findings {
  readonly #found = new Map<string, PreflightFinding>()

  constructor(found: readonly PreflightFinding[] = []) {
    for (const each of found) this.#found.set(`${each.code} ${each.message}`, each)
  }

  add(code: ArxivBundleCode, severity: PreflightFinding['severity'], message: string): void {
    this.#found.set(`${code} ${message}`, { code, severity, message })
  }

  /** All findings, errors first. */
  list(): readonly PreflightFinding[] {
    const order = ['error', 'warning', 'info']
    return [...this.#found.values()].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity))
  }
}
