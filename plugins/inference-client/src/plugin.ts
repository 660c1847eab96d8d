import {
  databaseStore,
  inferenceClient,
  inferenceProviders,
  inferenceRouter,
  kernelAdmin,
  kernelPort,
  localInference,
  modelAnswer,
  modelAnswered,
  modelHooks,
  modelRequest,
  modelToolCall,
  ownModelServer
} from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { chatCommand, runChat } from './chat/command.ts'
import { ModelServerClient } from './client.ts'
import { CostRows } from './cost-rows.ts'
import {
  askHandler,
  askModel,
  checkHandler,
  checkModel,
  listHandler,
  listModels,
  listRunning,
  runningHandler,
  showHandler,
  showModel
} from './operations.ts'
import { configuredRouter, ownServer, reachable } from './own-server.ts'
import { settings } from './settings.ts'

export default definePlugin({
  name: 'inference-client',
  summary: 'Client for the configured model server, for other plugins and the command line',
  config: settings,
  optional: {
    admin: kernelAdmin,
    kernel: kernelPort,
    server: ref(ownModelServer),
    router: ref(inferenceRouter),
    // Not by reference: a command that asks a model includes these plugins, as a server does.
    database: databaseStore,
    providers: inferenceProviders
  },
  provides: [inferenceClient, localInference],
  hooks: [modelRequest, modelAnswer, modelToolCall, modelAnswered],
  operations: [listModels, listRunning, showModel, checkModel, askModel],
  commands: [chatCommand],
  activate(ctx, { admin, kernel, server, router, database, providers }) {
    const costs = new CostRows({ store: () => database, log: ctx.log })
    const routerUrl = () => router?.available?.url
    const client = new ModelServerClient(() => ctx.config, {
      own: () => ownServer(admin, kernel?.stateRoot),
      hooks: modelHooks(ctx),
      costs,
      router: () => {
        const url = routerUrl()
        return url === undefined ? configuredRouter(admin) : reachable(url)
      },
      providers: () => providers,
      passFor: url => ({ ...server?.available?.passFor(url), ...router?.available?.passFor(url) })
    })
    ctx.provide(inferenceClient, client)
    ctx.provide(localInference, client.local)
    ctx.implement(listModels, listHandler(client))
    ctx.implement(listRunning, runningHandler(client))
    ctx.implement(showModel, showHandler(client))
    ctx.implement(checkModel, checkHandler(client))
    ctx.implement(askModel, askHandler(client))
    ctx.command(chatCommand.command, runChat(client))
    ctx.effect('costs that are not stored yet', () => costs.flush())
  }
})
