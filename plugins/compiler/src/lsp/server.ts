import { isSvcError } from '@svc/plugin-sdk'
import {
  CodeActionKind,
  createConnection,
  ErrorCodes,
  type InitializeResult,
  LSPErrorCodes,
  ResponseError,
  TextDocumentSyncKind,
  TextDocuments,
  type WatchDog
} from 'vscode-languageserver'
import { createProtocolConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-languageserver/node'
import { TextDocument } from 'vscode-languageserver-textdocument'
import type { Analysis, AnalysisOptions } from './analysis.ts'
import { CleanFiles } from './clean-files.ts'
import { codeActions } from './code-actions.ts'
import { codeLenses } from './code-lenses.ts'
import { completions } from './completion.ts'
import { documentSymbols } from './document-symbols.ts'
import { formattingEdits, rangeFormattingEdits } from './formatting.ts'
import { hover } from './hover.ts'
import { inlayHints } from './inlay-hints.ts'
import { definition, highlights, references } from './navigation.ts'
import { OpenFiles } from './open-files.ts'
import { publishedDiagnostics } from './published-diagnostics.ts'
import { prepareRename, RenameRefused, rename } from './rename.ts'
import { semanticTokens, semanticTokensLegend } from './semantic-tokens.ts'
import { signatureHelp } from './signature-help.ts'
import { Workspace } from './workspace/workspace.ts'

export interface LanguageServer {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
  /** Stops the server. */
  readonly signal: AbortSignal
  /** Name and version that the server reports. */
  readonly version: string
  /** Returns the options for the analysis of a file version. */
  options(): AnalysisOptions
  /** Called when a file loses its last finding. */
  cleaned(uri: string): void
  /** Called with errors of the server itself. */
  failed(error: unknown): void
}

const CAPABILITIES: InitializeResult['capabilities'] = {
  positionEncoding: 'utf-16',
  textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
  hoverProvider: true,
  completionProvider: { triggerCharacters: ['@', '.'] },
  signatureHelpProvider: { triggerCharacters: ['(', ','], retriggerCharacters: [')'] },
  definitionProvider: true,
  referencesProvider: true,
  documentHighlightProvider: true,
  renameProvider: { prepareProvider: true },
  documentFormattingProvider: true,
  documentRangeFormattingProvider: true,
  documentSymbolProvider: true,
  codeLensProvider: {},
  codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix] },
  inlayHintProvider: true,
  semanticTokensProvider: { legend: semanticTokensLegend, full: true }
}

/** Debounce between a change and its check, in milliseconds. */
const DEBOUNCE_MS = 10
/** Interval of the check whether the editor still runs, in milliseconds. */
const PARENT_CHECK_MS = 3_000

/**
 * Serves the language server protocol until the client sends `exit`, disconnects, or its process ends. Returns the exit
 * code: 0 after `shutdown`, else 1.
 */
export function serveLanguage(server: LanguageServer): Promise<number> {
  const { input, output, signal } = server
  return new Promise(resolve => {
    const watch = new ParentWatch(code => end(code))
    const protocol = (logger: Parameters<Parameters<typeof createConnection>[0]>[0]) =>
      createProtocolConnection(new StreamMessageReader(input), new StreamMessageWriter(output), logger)
    const connection = createConnection(protocol, watch)
    const session = new EditorSession(connection, server)
    const end = (code: number): void => {
      watch.stop()
      session.close()
      connection.dispose()
      // An open input would keep the process alive.
      input.pause()
      resolve(code)
    }
    const hangUp = (): void => end(watch.shutdownReceived ? 0 : 1)
    input.on('end', hangUp).on('close', hangUp)
    signal.addEventListener('abort', hangUp)
    connection.listen()
  })
}

/** Ends the server on `exit`, or when the client process is gone. */
class ParentWatch implements WatchDog {
  shutdownReceived = false
  readonly exit: (code: number) => void
  #timer: NodeJS.Timeout | undefined

  constructor(exit: (code: number) => void) {
    this.exit = exit
  }

  initialize({ processId }: { readonly processId: number | null }): void {
    if (processId === null) return
    this.#timer = setInterval(() => {
      if (!isRunning(processId)) this.exit(this.shutdownReceived ? 0 : 1)
    }, PARENT_CHECK_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

type Connection = ReturnType<typeof createConnection>

class EditorSession {
  readonly #connection: Connection
  readonly #server: LanguageServer
  readonly #documents = new TextDocuments(TextDocument)
  readonly #files: OpenFiles
  readonly #workspace: Workspace
  readonly #clean = new CleanFiles()
  /** Debounce timers of files whose newest version is unchecked, by URI. */
  readonly #waiting = new Map<string, NodeJS.Timeout>()

  constructor(connection: Connection, server: LanguageServer) {
    this.#connection = connection
    this.#server = server
    this.#files = new OpenFiles(() => server.options())
    this.#workspace = new Workspace(
      () => this.#documents.all(),
      this.#files,
      () => server.options()
    )
    connection.onInitialize(({ workspaceFolders, rootUri }) => {
      this.#workspace.useFolders(workspaceFolders?.map(({ uri }) => uri) ?? (rootUri === null ? [] : [rootUri]))
      return { capabilities: CAPABILITIES, serverInfo: { name: 'svc', version: server.version } }
    })
    this.#documents.onDidChangeContent(({ document }) => this.#check(document.uri))
    this.#documents.onDidSave(({ document }) => this.#check(document.uri))
    this.#documents.onDidClose(({ document }) => this.#forget(document.uri))
    this.#documents.listen(connection)
    this.#registerHandlers()
  }

  close(): void {
    for (const timer of this.#waiting.values()) clearTimeout(timer)
    this.#waiting.clear()
  }

  #registerHandlers(): void {
    const connection = this.#connection
    connection.onHover(({ textDocument, position }) => this.#analyse(textDocument, null, file => hover(file, position)))
    connection.onCompletion(({ textDocument, position }) =>
      this.#analyse(textDocument, [], file => completions(file, position))
    )
    connection.onDefinition(({ textDocument, position }) =>
      this.#analyse(textDocument, null, file => definition(file, position, this.#workspace))
    )
    connection.onReferences(({ textDocument, position, context }) =>
      this.#analyse(textDocument, [], file => references(file, position, context.includeDeclaration, this.#workspace))
    )
    connection.onDocumentHighlight(({ textDocument, position }) =>
      this.#analyse(textDocument, [], file => highlights(file, position))
    )
    connection.onPrepareRename(({ textDocument, position }) =>
      this.#analyse(textDocument, null, file => prepareRename(file, position, this.#workspace))
    )
    connection.onRenameRequest(({ textDocument, position, newName }) =>
      this.#analyse(textDocument, null, file => ({ changes: rename(file, position, newName, this.#workspace) }))
    )
    connection.onDocumentFormatting(({ textDocument }) => this.#analyse(textDocument, [], formattingEdits))
    connection.onDocumentRangeFormatting(({ textDocument, range }) =>
      this.#analyse(textDocument, [], file => rangeFormattingEdits(file, range))
    )
    connection.onSignatureHelp(({ textDocument, position }) =>
      this.#analyse(textDocument, null, file => signatureHelp(file, position))
    )
    connection.languages.inlayHint.on(({ textDocument, range }) =>
      this.#analyse(textDocument, [], file => inlayHints(file, range))
    )
    connection.onDocumentSymbol(({ textDocument }) => this.#analyse(textDocument, [], documentSymbols))
    connection.onCodeLens(({ textDocument }) => this.#analyse(textDocument, [], codeLenses))
    connection.onCodeAction(({ textDocument, context }) => codeActions(textDocument.uri, context.diagnostics))
    connection.languages.semanticTokens.on(({ textDocument }) =>
      this.#analyse(textDocument, { data: [] }, semanticTokens)
    )
  }

  /** Returns the result of a request about an open file; `none` for a closed file. */
  #analyse<A>(
    textDocument: { readonly uri: string },
    closedResult: A,
    compute: (file: Analysis) => A
  ): A | ResponseError {
    const document = this.#documents.get(textDocument.uri)
    if (document === undefined) return closedResult
    try {
      return compute(this.#files.of(document))
    } catch (error) {
      if (error instanceof RenameRefused) return new ResponseError(LSPErrorCodes.RequestFailed, error.message)
      this.#server.failed(error)
      const message = isSvcError(error) ? error.message : 'the language server failed; see its log'
      return new ResponseError(ErrorCodes.InternalError, message)
    }
  }

  /** Checks a file after a pause in its changes, so that quick changes are checked once. */
  #check(uri: string): void {
    if (this.#waiting.has(uri)) return
    const timer = setTimeout(() => {
      this.#waiting.delete(uri)
      this.#publish(uri)
    }, DEBOUNCE_MS)
    this.#waiting.set(uri, timer)
  }

  #publish(uri: string): void {
    const document = this.#documents.get(uri)
    if (document === undefined) return
    try {
      const diagnostics = publishedDiagnostics(this.#files.of(document))
      this.#send(uri, diagnostics, document.version)
      if (this.#clean.update(uri, diagnostics.length)) this.#server.cleaned(uri)
    } catch (error) {
      this.#server.failed(error)
    }
  }

  #forget(uri: string): void {
    clearTimeout(this.#waiting.get(uri))
    this.#waiting.delete(uri)
    this.#files.close(uri)
    this.#clean.close(uri)
    this.#send(uri, [])
  }

  #send(uri: string, diagnostics: ReturnType<typeof publishedDiagnostics>, version?: number): void {
    const params = version === undefined ? { uri, diagnostics } : { uri, diagnostics, version }
    // A send to a disconnected client fails; another handler reports the disconnect.
    this.#connection.sendDiagnostics(params).catch(() => undefined)
  }
}
