import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import {
  createProtocolConnection,
  type Diagnostic,
  DidChangeTextDocumentNotification,
  DidCloseTextDocumentNotification,
  DidOpenTextDocumentNotification,
  InitializedNotification,
  InitializeRequest,
  type InitializeResult,
  type Position,
  type ProtocolConnection,
  PublishDiagnosticsNotification,
  type PublishDiagnosticsParams,
  StreamMessageReader,
  StreamMessageWriter,
  type TextDocumentContentChangeEvent,
  type TextEdit
} from 'vscode-languageserver-protocol/node'
import { TextDocument } from 'vscode-languageserver-textdocument'

export const BIN = fileURLToPath(new URL('../../../../kernel/bin/svc.cjs', import.meta.url))

/** Test client of the language server, which runs as a separate process on standard streams. */
export class Editor {
  readonly connection: ProtocolConnection
  readonly capabilities: InitializeResult['capabilities']
  readonly #input: Writable
  readonly #published: PublishDiagnosticsParams[] = []
  readonly #waiting: (() => void)[] = []
  /** Resolves to the exit code of the server. */
  readonly ended: Promise<number | null>

  /** Starts the server. `processId` is the process of the editor; `folders` are its workspace folders. */
  static async start(
    t: Test,
    {
      cwd = t.testdir({}),
      env = {},
      processId = process.pid as number | null,
      folders = null as readonly string[] | null
    } = {}
  ): Promise<Editor> {
    const child = spawn(process.execPath, [BIN, 'lsp', '--stdio'], {
      cwd,
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, NODE_OPTIONS: '', ...env }
    })
    const ended = once(child, 'exit').then(([code]) => code as number | null)
    const connection = createProtocolConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin)
    )
    t.teardown(async () => {
      connection.dispose()
      child.kill('SIGKILL')
      await ended
    })
    const editor = new Editor(connection, child.stdin, ended)
    connection.listen()
    const { capabilities } = await connection.sendRequest(InitializeRequest.type, {
      processId,
      rootUri: null,
      workspaceFolders: folders?.map(path => ({ uri: pathToFileURL(path).href, name: path })) ?? null,
      capabilities: {}
    })
    Object.assign(editor, { capabilities })
    await connection.sendNotification(InitializedNotification.type, {})
    return editor
  }

  private constructor(connection: ProtocolConnection, input: Writable, ended: Promise<number | null>) {
    this.connection = connection
    this.#input = input
    this.ended = ended
    this.capabilities = {}
    connection.onNotification(PublishDiagnosticsNotification.type, params => {
      this.#published.push(params)
      for (const wake of this.#waiting.splice(0)) wake()
    })
  }

  /** Disconnects without a shutdown request. */
  hangUp(): void {
    this.#input.end()
  }

  /** Opens a file. `name` is an absolute path, or a path in a folder that does not exist on disk. */
  async open(name: string, text: string): Promise<OpenFile> {
    const uri = pathToFileURL(resolve('/project', name)).href
    const textDocument = { uri, languageId: 'vox', version: 1, text }
    await this.connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument })
    return new OpenFile(this, TextDocument.create(uri, 'vox', 1, text))
  }

  /** Returns the findings of one version of a file; without a version, the next published findings. */
  async diagnostics(uri: string, version?: number): Promise<readonly Diagnostic[]> {
    for (let seen = version === undefined ? this.#published.length : 0; ; seen++) {
      while (seen >= this.#published.length) await new Promise<void>(wake => this.#waiting.push(wake))
      const params = this.#published[seen] as PublishDiagnosticsParams
      if (params.uri === uri && (version === undefined || params.version === version)) return params.diagnostics
    }
  }

  /** Returns the versions of a file for which findings were published. */
  versions(uri: string): (number | undefined)[] {
    return this.#published.filter(params => params.uri === uri).map(({ version }) => version)
  }
}

export class OpenFile {
  readonly #editor: Editor
  #document: TextDocument

  constructor(editor: Editor, document: TextDocument) {
    this.#editor = editor
    this.#document = document
  }

  get uri(): string {
    return this.#document.uri
  }

  get text(): string {
    return this.#document.getText()
  }

  /** Returns the position of `|` in the file. `mark` is the text around the position. */
  at(mark: string): { readonly textDocument: { readonly uri: string }; readonly position: Position } {
    const offset = this.text.indexOf(mark.replace('|', ''))
    if (offset < 0) throw new Error(`the file does not contain ${mark}`)
    const position = this.#document.positionAt(offset + Math.max(0, mark.indexOf('|')))
    return { textDocument: { uri: this.uri }, position }
  }

  /** Returns the text at each range. */
  texts(places: readonly { readonly range: { readonly start: Position; readonly end: Position } }[]): string[] {
    return places.map(({ range }) => this.#document.getText(range))
  }

  async change(...contentChanges: TextDocumentContentChangeEvent[]): Promise<void> {
    const version = this.#document.version + 1
    this.#document = TextDocument.update(this.#document, contentChanges, version)
    const textDocument = { uri: this.uri, version }
    await this.#editor.connection.sendNotification(DidChangeTextDocumentNotification.type, {
      textDocument,
      contentChanges
    })
  }

  /** Types `text` at the position of `|` in `mark`. */
  async type(mark: string, text: string): Promise<void> {
    const { position } = this.at(mark)
    await this.change({ range: { start: position, end: position }, text })
  }

  async close(): Promise<void> {
    await this.#editor.connection.sendNotification(DidCloseTextDocumentNotification.type, {
      textDocument: { uri: this.uri }
    })
  }

  diagnostics(): Promise<readonly Diagnostic[]> {
    return this.#editor.diagnostics(this.uri, this.#document.version)
  }

  /** Returns the text after the server's edits. */
  edited(edits: readonly TextEdit[] | null | undefined): string {
    return TextDocument.applyEdits(this.#document, [...(edits ?? [])])
  }
}
