import { type DiagnosticsCleanEvent, reservedStdout } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, t } from '@svc/plugin-sdk'
import type { AnalysisOptions } from './lsp/analysis.ts'

export const lspCommand: CommandDescriptor = {
  command: 'lsp',
  summary: 'Run the language server for editors',
  input: t.object({
    stdio: t.boolean({
      default: true,
      description: 'Use standard input and output, the only transport.'
    })
  }),
  // The project is needed for the plugin that receives notifications about clean files.
  project: true
}

/** Dependencies of the command. */
export interface LanguageServing {
  readonly version: string
  options(): AnalysisOptions
  /** Sends notifications to the reward component. */
  reward(event: DiagnosticsCleanEvent): void
  failed(error: unknown): void
}

/**
 * Returns the command handler. Exit codes: 0 after `shutdown`; 1 if the client disconnected without it; 2 for another
 * transport.
 */
export function runLsp(serving: LanguageServing): CommandHandler {
  return async ({ stdio = true }, io) => {
    if (stdio === false) {
      const message = 'standard input and output are the only transport; omit --no-stdio'
      io.stderr.write(io.json ? `${JSON.stringify({ error: { message } })}\n` : `error: ${message}\n`)
      return 2
    }
    // Loaded on demand: no other command needs the protocol.
    const { serveLanguage } = await import('./lsp/server.ts')
    const { version } = serving
    return serveLanguage({
      input: io.stdin,
      output: io.stdout === process.stdout ? reservedStdout() : io.stdout,
      signal: io.signal,
      version,
      options: () => serving.options(),
      cleaned: file => serving.reward({ type: 'diagnostics_clean', file }),
      failed: error => serving.failed(error)
    })
  }
}
