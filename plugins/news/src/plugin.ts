import {
  databaseStore,
  declaredSecretResolver,
  declaredSecrets,
  kernelAdmin,
  kernelPort,
  type NewsChannel,
  newsChannels,
  publications
} from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { builtInChannels } from './channels/built-in.ts'
import type { ChannelParts } from './channels/parts.ts'
import { contributeConsole } from './console.ts'
import { DECLARED_CREDENTIALS } from './credentials/declared.ts'
import { FeedFile } from './feed/feed-file.ts'
import { rssChannel } from './feed/rss-channel.ts'
import {
  type Dependencies,
  feedHandler,
  inboxHandler,
  itemsHandler,
  previewHandler,
  publishHandler,
  resolveHandler,
  scanHandler,
  statusHandler
} from './operations/handlers.ts'
import { Newsroom } from './operations/newsroom.ts'
import {
  NEWS_TOPIC,
  newsFeed,
  newsInbox,
  newsItems,
  newsPreview,
  newsPublish,
  newsResolve,
  newsScan,
  newsStatus,
  operations
} from './operations/operations.ts'
import { previewCommand, previewCommandHandler } from './operations/preview-command.ts'
import { parseFloors } from './publishing/floors.ts'
import { PostStore } from './publishing/post-store.ts'
import { Publisher } from './publishing/publisher.ts'
import { Sender } from './publishing/sender.ts'
import { Tables } from './publishing/tables.ts'
import { Serving } from './serving.ts'
import { type Settings, settings } from './settings.ts'

export default definePlugin({
  name: 'news',
  summary: 'Publishes news to a feed and to channels',
  config: settings,
  requires: { kernel: kernelPort, publications },
  optional: { database: databaseStore, secrets: declaredSecretResolver, admin: kernelAdmin },
  points: [newsChannels],
  operations,
  commands: [previewCommand],
  activate(ctx, { kernel, publications, database, secrets, admin }) {
    const current = (): Settings => ctx.config as Settings
    parseFloors(current().channel_worthiness_floors)
    const parts: ChannelParts = {
      settings: current,
      projectRoot: ctx.projectRoot,
      log: ctx.log,
      secrets: () => secrets,
      admin: () => admin
    }
    const own = [rssChannel(parts), ...builtInChannels(parts)]
    for (const channel of own) ctx.contribute(newsChannels, channel, `channel ${channel.name}`)
    for (const each of DECLARED_CREDENTIALS) ctx.contribute(declaredSecrets, each)
    let channels: readonly NewsChannel[] = own
    ctx.follow(newsChannels, items => {
      channels = items
    })
    const changed = (): void => ctx.changed(NEWS_TOPIC)
    const store = new PostStore({ tables: new Tables(database) })
    const sender = new Sender({ store, log: ctx.log, mask: text => kernel.mask(text) })
    const publisher = new Publisher({
      settings: current,
      publications,
      store,
      sender,
      channels: () => channels,
      log: ctx.log,
      changed
    })
    const newsroom = new Newsroom({ projectRoot: ctx.projectRoot, settings: current, channels: () => channels })
    const dependencies: Dependencies = {
      settings: current,
      newsroom,
      publisher,
      store,
      feed: new FeedFile(ctx.projectRoot, current),
      channels: () => channels,
      changed,
      signal: ctx.signal
    }
    const serving = new Serving({ settings: current, newsroom, publisher, store, log: ctx.log })
    ctx.onServe('news', () => {
      if (admin?.isServer !== true) return
      ctx.background('scans of news', signal => serving.scans(signal))
      ctx.background('planned attempts of news', signal => serving.retries(signal))
    })
    contributeConsole(ctx)
    ctx.command(previewCommand.command, previewCommandHandler(dependencies))
    ctx.implement(newsScan, scanHandler(dependencies))
    ctx.implement(newsPreview, previewHandler(dependencies))
    ctx.implement(newsPublish, publishHandler(dependencies))
    ctx.implement(newsStatus, statusHandler(dependencies))
    ctx.implement(newsResolve, resolveHandler(dependencies))
    ctx.implement(newsItems, itemsHandler(dependencies))
    ctx.implement(newsFeed, feedHandler(dependencies))
    ctx.implement(newsInbox, inboxHandler(dependencies))
  }
})
