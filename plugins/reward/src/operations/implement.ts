import type { PluginContext } from '@svc/plugin-sdk'
import type { Dependencies } from '../dependencies.ts'
import { battleStart, battleStartHandler, battleSubmit, battleSubmitHandler } from './battles.ts'
import {
  checkMood,
  collegiumHandler,
  collegiumJoin,
  moodHandler,
  prestigeHandler,
  prestigeOperation
} from './community.ts'
import {
  configHandler,
  configOperation,
  configSet,
  configSetHandler,
  switchHandler,
  switchOff,
  switchOn
} from './config.ts'
import { digestHandler, digestOperation } from './digest.ts'
import { eventsHandler, eventsOperation } from './events.ts'
import { forgetHandler, forgetOperation } from './forget.ts'
import { explainHandler, hintExplain } from './hint-explain.ts'
import { hintsHandler, hintsOperation } from './hints.ts'
import {
  ackAllHandler,
  ackHandler,
  notificationAck,
  notificationsAckAll,
  notificationsHandler,
  notificationsList
} from './notifications.ts'
import { achievementsHandler, achievementsOperation, progressHandler, progressSnapshot } from './progress.ts'
import { questList, questsHandler } from './quests.ts'
import { buyHandler, shopBuy, shopCatalog, shopHandler } from './shop.ts'
import {
  valuesHandler,
  valuesOperation,
  valuesReset,
  valuesResetHandler,
  valuesSet,
  valuesSetHandler
} from './values.ts'

export const operations = [
  progressSnapshot,
  achievementsOperation,
  notificationsList,
  notificationAck,
  notificationsAckAll,
  eventsOperation,
  questList,
  hintsOperation,
  hintExplain,
  digestOperation,
  shopCatalog,
  shopBuy,
  collegiumJoin,
  checkMood,
  prestigeOperation,
  battleStart,
  battleSubmit,
  valuesOperation,
  valuesSet,
  valuesReset,
  configOperation,
  configSet,
  forgetOperation,
  switchOff,
  switchOn
]

export function implementOperations(ctx: Pick<PluginContext, 'implement'>, dependencies: Dependencies): void {
  ctx.implement(progressSnapshot, progressHandler(dependencies))
  ctx.implement(achievementsOperation, achievementsHandler(dependencies))
  ctx.implement(notificationsList, notificationsHandler(dependencies))
  ctx.implement(notificationAck, ackHandler(dependencies))
  ctx.implement(notificationsAckAll, ackAllHandler(dependencies))
  ctx.implement(eventsOperation, eventsHandler(dependencies))
  ctx.implement(questList, questsHandler(dependencies))
  ctx.implement(hintsOperation, hintsHandler(dependencies))
  ctx.implement(hintExplain, explainHandler(dependencies))
  ctx.implement(digestOperation, digestHandler(dependencies))
  ctx.implement(shopCatalog, shopHandler(dependencies))
  ctx.implement(shopBuy, buyHandler(dependencies))
  ctx.implement(collegiumJoin, collegiumHandler(dependencies))
  ctx.implement(checkMood, moodHandler(dependencies))
  ctx.implement(prestigeOperation, prestigeHandler(dependencies))
  ctx.implement(battleStart, battleStartHandler(dependencies))
  ctx.implement(battleSubmit, battleSubmitHandler(dependencies))
  ctx.implement(valuesOperation, valuesHandler(dependencies))
  ctx.implement(valuesSet, valuesSetHandler(dependencies))
  ctx.implement(valuesReset, valuesResetHandler(dependencies))
  ctx.implement(configOperation, configHandler(dependencies))
  ctx.implement(configSet, configSetHandler(dependencies))
  ctx.implement(forgetOperation, forgetHandler(dependencies))
  ctx.implement(switchOff, switchHandler(dependencies, false))
  ctx.implement(switchOn, switchHandler(dependencies, true))
}
