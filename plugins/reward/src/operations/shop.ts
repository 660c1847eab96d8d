import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { type Dependencies, settledReader } from '../dependencies.ts'
import { rewardErrors } from '../errors.ts'
import { maxEnergy } from '../rules/levels.ts'
import { SHOP, type ShopItem } from '../rules/shop.ts'
import { loadProfile } from '../store/load-state.ts'
import { newUserState, type UserState } from '../store/user-state.ts'
import { gamifyTool } from './expose.ts'

const { RWD_OFF, RWD_ITEM_UNKNOWN, RWD_CRYSTALS_MISSING } = rewardErrors.specs

export const shopCatalog = defineOperation({
  id: 'reward.shop_catalog',
  summary: 'List what crystals buy',
  input: t.object({}),
  output: t.object({
    crystals: t.integer({ description: 'Crystals of the user.' }),
    items: t.array(
      t.object({
        name: t.string(),
        title: t.string(),
        description: t.string(),
        price: t.integer({ description: 'Crystals.' }),
        affordable: t.boolean()
      })
    )
  }),
  errors: { RWD_OFF },
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/reward/shop' },
    mcp: gamifyTool('shop_catalog', 'Items with their prices. To buy one: svc_gamify_shop_buy.'),
    rpc: true,
    cli: { command: 'reward shop', view: { rows: 'items', columns: ['name', 'price', 'affordable', 'description'] } }
  }
})

export const shopBuy = defineOperation({
  id: 'reward.shop_buy',
  summary: 'Buy an item with crystals',
  input: t.object({ item: t.string({ minLength: 1, maxLength: 100, description: 'Name of the item.' }) }),
  output: t.object({ item: t.string(), price: t.integer(), crystals: t.integer({ description: 'Crystals left.' }) }),
  errors: { RWD_OFF, RWD_ITEM_UNKNOWN, RWD_CRYSTALS_MISSING },
  expose: {
    http: { method: 'POST', path: '/api/reward/shop/buy' },
    mcp: gamifyTool(
      'shop_buy',
      'When the user wants it: it spends crystals. Names and prices: svc_gamify_shop_catalog.'
    ),
    rpc: true,
    cli: { command: 'reward shop buy', args: ['item'], view: { fields: ['item', 'price', 'crystals'] } }
  }
})

export function shopHandler(dependencies: Dependencies): Handler<typeof shopCatalog> {
  return async () => {
    const { tx, user } = await settledReader(dependencies)
    const { crystals } = (await loadProfile(tx, user)) ?? newUserState(user, dependencies.now()).profile
    return {
      crystals,
      items: SHOP.map(({ name, title, description, price }) => ({
        name,
        title,
        description,
        price,
        affordable: price <= crystals
      }))
    }
  }
}

export function buyHandler(dependencies: Dependencies): Handler<typeof shopBuy> {
  return async ({ item: name }) => {
    const item = SHOP.find(each => each.name === name)
    if (item === undefined)
      throw rewardErrors.create('RWD_ITEM_UNKNOWN', `item ${name}: the shop does not have it`, {
        data: { item: name },
        hint: `buy one of ${SHOP.map(each => each.name).join(', ')}`
      })
    return await dependencies.engine.change(async ({ state }) => {
      const { profile } = state
      if (profile.crystals < item.price)
        throw rewardErrors.create(
          'RWD_CRYSTALS_MISSING',
          `item ${name}: it costs ${item.price} crystals; the user has ${profile.crystals}`,
          { data: { item: name, price: item.price, crystals: profile.crystals }, hint: 'complete a quest for more' }
        )
      profile.crystals -= item.price
      apply(item, state)
      return { item: name, price: item.price, crystals: profile.crystals }
    })
  }
}

function apply({ effect }: ShopItem, state: UserState): void {
  const { profile } = state
  if (effect === 'shield') profile.streakShields += 1
  else if (effect === 'energy') profile.energy = maxEnergy(profile.level)
  else state.companion = { mood: 'happy', health: 100, energy: 100 }
}
