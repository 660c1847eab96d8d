import {
  databaseStore,
  inferenceClient,
  inferenceGrammars,
  languageCompiler,
  orchestrator,
  questioning,
  search,
  sessionContext,
  transcripts
} from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { Chat } from './chat/chat.ts'
import { chat } from './chat/operation.ts'
import { Editor } from './edit/editor.ts'
import { inlineEdit } from './edit/operation.ts'
import { generateCommand, runGenerate } from './generate/command.ts'
import { Generator } from './generate/generator.ts'
import { generateCode } from './generate/operation.ts'
import { voxNamedGrammar } from './grammar/vox-grammar.ts'
import { Accounts } from './model/accounts.ts'
import { oplog } from './oplog/operation.ts'
import { Oplog } from './oplog/oplog.ts'
import { provided } from './provided.ts'
import { settings } from './settings.ts'

export default definePlugin({
  name: 'assistant',
  summary: 'Chat and code generation with the configured model',
  config: settings,
  requires: { tasks: ref(orchestrator), client: ref(inferenceClient), said: ref(transcripts) },
  optional: {
    compiler: ref(languageCompiler),
    questions: ref(questioning),
    context: ref(sessionContext),
    database: ref(databaseStore),
    searches: ref(search)
  },
  operations: [chat, generateCode, inlineEdit, oplog],
  commands: [generateCommand],
  permissions: { fsRead: ['.'], fsWrite: ['.'], childProcess: true },
  activate(ctx, { tasks, client, said, compiler, questions, context, database, searches }) {
    const { projectRoot, log } = ctx
    const shared = {
      projectRoot,
      log,
      settings: () => ctx.config,
      orchestrator: () => tasks.current,
      client: () => client.current,
      transcripts: () => said.current,
      database: () => provided(database)
    }
    const accounts = new Accounts(shared)
    const chats = new Chat({
      ...shared,
      accounts,
      search: () => provided(searches),
      sessionContext: () => provided(context),
      questioning: () => provided(questions)
    })
    const written = new Oplog({ ...shared, repositoryId: () => tasks.current.repositoryId })
    ctx.implement(oplog, input => written.list(input))
    const generator = new Generator({ ...shared, accounts, oplog: written, compiler: () => provided(compiler) })
    ctx.implement(chat, (input, call) => chats.answer(input, call))
    ctx.implement(generateCode, (input, call) => generator.generate(input, call))
    const editor = new Editor({ ...shared, accounts, oplog: written })
    ctx.implement(inlineEdit, (input, call) => editor.edit(input, call))
    ctx.command(generateCommand.command, runGenerate(generator, projectRoot))
    ctx.contribute(inferenceGrammars, voxNamedGrammar)
  }
})
