import { connect, type NatsConnection } from 'nats';

/** The members of a heartbeat that are read here: docs/protocol.md, "Frames over NATS". */
interface Heartbeat {
  readonly id: string;
  readonly contract: string;
}

/** Messages of each kind. */
export interface FloodSize {
  /** Each of a member that is not there. */
  readonly heartbeats: number;
  /** Each of a gateway that is not there, with an acknowledgement behind its first message. */
  readonly gateways: number;
  readonly hellos: number;
  /** What is no message, on each subject of members and gateways. */
  readonly garbage: number;
  /** Questions of `$SRV`, and for the document of a contract. */
  readonly questions: number;
}

/** Messages after which the server of NATS is asked whether it has read them. */
const atOnce = 500;

/**
 * What one stranger may send who has nothing but the right to publish and to hear heartbeats.
 *
 * @returns heartbeats that members have sent meanwhile
 */
export async function flood(server: string, size: FloodSize, service = 'tandem'): Promise<number> {
  const stranger = await connect({ servers: server });
  try {
    return await floodBy(stranger, size, service);
  } finally {
    await stranger.close();
  }
}

async function floodBy(
  stranger: NatsConnection,
  size: FloodSize,
  service: string,
): Promise<number> {
  const mark = `zz${process.hrtime.bigint()}`;
  let beats = 0;
  const real = new Promise<Heartbeat>((resolve) => {
    stranger.subscribe(`${service}.hb`, {
      callback: (_, { data }) => {
        if (data.length === 0 || Buffer.from(data).includes(mark)) return;
        beats++;
        resolve(JSON.parse(Buffer.from(data).toString()) as Heartbeat);
      },
    });
  });
  stranger.publish(`${service}.hi`);
  const member = await real;
  const send = async (count: number, each: (name: string, at: number) => void): Promise<void> => {
    for (let i = 0; i < count; i++) {
      each(`${mark}x${i}`, i);
      if (i % atOnce === 0) await stranger.flush();
    }
    await stranger.flush();
  };
  const toMember = `${service}.m.${member.id}`;
  await send(size.heartbeats, (id) =>
    stranger.publish(`${service}.hb`, JSON.stringify({ ...member, id })),
  );
  await send(size.gateways, (id) => {
    stranger.publish(toMember, `{"g":"${id}","sync":1,"s":0,"have":0,"next":1}`);
    stranger.publish(toMember, `{"g":"${id}","s":2,"a":0}`);
  });
  await send(size.hellos, () => stranger.publish(`${service}.hi`));
  const subjects = [`${service}.hb`, toMember, `${service}.doc.${member.contract}`];
  await send(size.garbage, (id, i) => {
    stranger.publish(subjects[i % subjects.length] ?? '', id, { reply: `_INBOX.${id}` });
  });
  const questions = ['$SRV.STATS', '$SRV.INFO', `${service}.doc.${member.contract}`];
  await send(size.questions, (id, i) => {
    const subject = questions[i % questions.length] ?? '';
    stranger.publish(subject, '{"from":0}', { reply: `_INBOX.${id}` });
  });
  return beats;
}
