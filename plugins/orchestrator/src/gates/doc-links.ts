import { type Gate, passed, skipped } from './gate.ts'

/** Gate: file links in written Markdown files have existing targets. */
export const docLinksGate: Gate = {
  name: 'doc_links',
  counter: 'debug_iterations',
  heading: () => '[DOC INTEGRITY GATE]',
  ask({ evidence, settings }) {
    if (!settings.completion_markdown_link_audit_enabled)
      return skipped('completion_markdown_link_audit_enabled is off')
    const broken = evidence?.brokenLinks ?? []
    if (broken.length === 0) return passed('every file link in the documents has a target')
    const named = broken.slice(0, 5).map(({ file, line, target }) => `${file}:${line} to ${target}`)
    return {
      verdict: 'fail',
      detail: `${broken.length} links have no target: ${named.join('; ')}`,
      atLimit: 'pass',
      data: { broken: broken.slice(0, 50) }
    }
  }
}
