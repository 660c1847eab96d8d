import type { CodeLens } from 'vscode-languageserver'
import type { Analysis } from './analysis.ts'

/** Command that a client registers to run a test; its arguments are the URI of the file and the function's name. */
const RUN_TEST_COMMAND = 'vox.runTest'

export function codeLenses(analysis: Analysis): CodeLens[] {
  return analysis.parsed.module.items.flatMap(item => {
    if (item.kind !== 'Function' || (item.role !== 'test' && item.role !== 'forall' && item.role !== 'fuzz')) return []
    const args = [analysis.document.uri, item.name.text]
    const title = item.role === 'test' ? 'Run test' : 'Run property test'
    return [{ range: analysis.range(item.name), command: { title, command: RUN_TEST_COMMAND, arguments: args } }]
  })
}
