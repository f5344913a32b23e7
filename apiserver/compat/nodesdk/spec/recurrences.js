'use strict';

const { test } = require('node:test');
const { group, collection, later, connected, same } = require('../lib/client');

const minutes = 60_000;
const hours = 60 * minutes;
const days = 24 * hours;

const midnight = later.getTime() - later.getTime() % days;
const monday = new Date(midnight + (8 - later.getUTCDay()) % 7 * days + 6.5 * hours); // 06:30
const first = new Date(Date.UTC(later.getUTCFullYear(), later.getUTCMonth() + 2, 1, 6, 30));
const friday = new Date(first.getTime() + (12 - first.getUTCDay()) % 7 * days);
const lastDay = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0, 6, 0));
const endTime = new Date(monday.getTime() + 100 * days);
const halfAnHourAgo = new Date(Math.floor(Date.now() / 1000) * 1000 - 30 * minutes);
const after = (time, ms) => new Date(time.getTime() + ms);

const rows = [
  ['5 minutes', monday, { frequency: 'Minute', interval: 5 }, monday],
  ['12 hours', monday, { frequency: 'Hour', interval: 12 }, monday],
  ['548 days', monday, { frequency: 'Day', interval: 548 }, monday],
  ['78 weeks', monday, { frequency: 'Week', interval: 78 }, monday],
  ['18 months', monday, { frequency: 'Month', interval: 18 }, monday], // the SDK refuses to send Year
  ['started in the past', halfAnHourAgo, { frequency: 'Hour', interval: 1 }, after(halfAnHourAgo, hours)],
  ['count', monday, { frequency: 'Day', interval: 2, count: 10 }, monday],
  ['endTime', monday, { frequency: 'Day', interval: 2, endTime }, monday],
  ['count and endTime', monday, { frequency: 'Day', interval: 2, count: 10, endTime }, monday],
  ['no interval', monday, { frequency: 'Day' }, monday],

  ['minutes of hours', monday, { frequency: 'Day', schedule: { hours: [5, 9], minutes: [15, 45] } }, after(monday, 2.75 * hours)],
  ['minutes of every hour', monday, { frequency: 'Day', schedule: { minutes: [0] } }, after(monday, 30 * minutes)],
  ["hours at the start's minute", monday, { frequency: 'Day', schedule: { hours: [5] } }, after(monday, 23 * hours)],
  ['minutes with an hourly job', monday, { frequency: 'Hour', schedule: { minutes: [15] } }, after(monday, 45 * minutes)],
  ['weekDays', monday, { frequency: 'Week', schedule: { weekDays: ['Sunday', 'Wednesday'] } }, after(monday, 2 * days)],
  ['weekDays, hours and minutes', monday, { frequency: 'Week', schedule: { weekDays: ['Saturday'], hours: [17], minutes: [15] } },
    after(monday, 5 * days + 10.75 * hours)],
  ['monthDays', first, { frequency: 'Month', schedule: { monthDays: [15, 28] } }, after(first, 14 * days)],
  ['last of monthDays', first, { frequency: 'Month', schedule: { monthDays: [-1], hours: [6], minutes: [0] } }, lastDay],
  ['first of monthlyOccurrences', first, {
    frequency: 'Month', schedule: { monthlyOccurrences: [{ day: 'Friday', occurrence: 1 }], hours: [17], minutes: [0] },
  }, after(friday, 10.5 * hours)],
  ['third of monthlyOccurrences', first, {
    frequency: 'Month', schedule: { monthlyOccurrences: [{ day: 'Friday', occurrence: 3 }, { day: 'Friday', occurrence: -1 }] },
  }, after(friday, 14 * days)],
  ['all of monthlyOccurrences', first, { frequency: 'Month', schedule: { monthlyOccurrences: [{ day: 'Friday' }] } }, friday],
];

test('every form of recurrence is answered as it was put, in lower case, and occurs first when it should', async (t) => {
  const { jobs } = await connected();
  const action = { type: 'Https', request: { uri: 'https://bells.example/', method: 'GET' } };
  for (const [name, startTime, recurrence, next] of rows) {
    await t.test(name, async () => {
      await jobs.createOrUpdate(group, collection, 'j', { properties: { startTime, recurrence, action } });
      const { properties } = await jobs.get(group, collection, 'j');
      same(properties.startTime, startTime);
      same(properties.recurrence, spelled(recurrence));
      same(properties.status.nextExecutionTime, next);
    });
  }
});

// A recurrence as it is answered: its words in lower case, and its interval,
// which is 1 unless it was given.
function spelled({ frequency, interval = 1, schedule, ...rest }) {
  return {
    ...rest,
    frequency: frequency.toLowerCase(),
    interval,
    schedule: schedule && {
      ...schedule,
      weekDays: schedule.weekDays?.map((day) => day.toLowerCase()),
      monthlyOccurrences: schedule.monthlyOccurrences?.map(({ day, ...rest }) => ({ ...rest, day: day.toLowerCase() })),
    },
  };
}
