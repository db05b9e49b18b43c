//! The schema of PostgreSQL databases.

use loreloom_store::PostgresStore;
use loreloom_testkit::postgres::Cluster;
use tokio_postgres::NoTls;

#[tokio::test]
async fn a_database_of_another_version_is_refused() {
    let Some(cluster) = Cluster::start().unwrap() else { return };
    drop(PostgresStore::connect(&cluster.address()).await.unwrap());
    drop(PostgresStore::connect(&cluster.address()).await.unwrap());
    let (client, connection) = tokio_postgres::connect(&cluster.address(), NoTls).await.unwrap();
    let change = async move {
        client.batch_execute("UPDATE schema_version SET version = 99").await.unwrap();
    };
    let (ended, ()) = tokio::join!(connection, change);
    ended.unwrap();
    let refused = PostgresStore::connect(&cluster.address()).await.unwrap_err();
    let expected = "it has version 99 of the stored format, this loreloom needs version 8";
    assert_eq!(refused.to_string(), expected);
}
